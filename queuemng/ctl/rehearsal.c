/* rehearsal.c: see the header. The night is played in rehearse/; here are files, the terminal, and
 * the variants that are played one after the other. */
#include "queuemng/ctl/rehearsal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/config/cfg.h"
#include "queuemng/ctl_ask/round_trip.h"
#include "rehearse/page.h"
#include "rehearse/play.h"
#include "rehearse/report.h"

#define VARIANTS_MAX 16
#define STEPS        5 /* from a to b */

/* ---- progress, at a terminal ---- */

struct progress {
    const char *name;
    double began;
};

static double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void show_progress(void *ctx, uint32_t second, uint32_t of)
{
    const struct progress *p = ctx;
    double took = seconds_now() - p->began;

    if (second % 20 != 0 && second != of)
        return;
    fprintf(stderr, "\r%s%s%u of %u s of the night; %.0f s to go   ", p->name, p->name[0] != '\0' ? ": " : "", second, of,
            took / second * (of - second));
    if (second == of)
        fputs("\r\033[K", stderr);
}

static int play_one(struct played *x)
{
    struct progress p = { x->name, seconds_now() };
    struct play_watch watch = { isatty(STDERR_FILENO) == 1 ? show_progress : NULL, &p };

    return play_night(&x->f, &x->night, watch) < 0 ? ctl_fail(CTL_REFUSED, "out of memory") : CTL_OK;
}

/* ---- variants ---- */

struct variants {
    char key[80];             /* the word on the line */
    const char *dotted;       /* in the file */
    char value[VARIANTS_MAX][40];
    size_t n;
};

static const char *const short_keys[][2] = { { "routers", "cluster.routers" },
                                             { "nodes", "cluster.segment_nodes" },
                                             { "rate", "queues.0.release_per_s" },
                                             { "max_active", "queues.0.max_active" },
                                             { NULL, NULL } };

static bool put_range(struct variants *v, const char *text)
{
    char *end;
    double from = strtod(text, &end), to;

    if (end == text || strncmp(end, "..", 2) != 0)
        return false;
    text = end + 2;
    to = strtod(text, &end);
    if (end == text || *end != '\0' || to <= from)
        return false;
    for (v->n = 0; v->n < STEPS; v->n++)
        snprintf(v->value[v->n], sizeof(v->value[0]), "%.10g", from + (to - from) * (double)v->n / (STEPS - 1));
    return true;
}

static int read_variants(struct variants *v, const char *text)
{
    const char *eq = strchr(text, '=');

    if (eq == NULL || eq == text || eq[1] == '\0' || (size_t)(eq - text) >= sizeof(v->key))
        return ctl_fail(CTL_USAGE, "--vary %.60s: KEY=VALUE,VALUE or KEY=FROM..TO is expected, as routers=2,4,8", text);
    snprintf(v->key, sizeof(v->key), "%.*s", (int)(eq - text), text);
    v->dotted = v->key;
    for (size_t i = 0; short_keys[i][0] != NULL; i++)
        if (strcmp(v->key, short_keys[i][0]) == 0)
            v->dotted = short_keys[i][1];
    if (put_range(v, eq + 1))
        return CTL_OK;
    for (const char *p = eq + 1; *p != '\0'; p += *p == ',') {
        size_t n = strcspn(p, ",");

        if (v->n == VARIANTS_MAX || n == 0 || n >= sizeof(v->value[0]))
            return ctl_fail(CTL_USAGE, "--vary %.60s: 1 to %d values are allowed", text, VARIANTS_MAX);
        snprintf(v->value[v->n++], sizeof(v->value[0]), "%.*s", (int)n, p);
        p += n;
    }
    return CTL_OK;
}

/* The file with one value in place of its own; NULL: as it is. */
static int read_night(struct played *x, const char *file, const struct variants *v, size_t i)
{
    char set[160];
    const char *sets[] = { set };
    struct err e = { 0 };

    if (v->n > 0) {
        snprintf(set, sizeof(set), "%s=%s", v->dotted, v->value[i]);
        snprintf(x->name, sizeof(x->name), "%.20s=%.40s", v->key, v->value[i]);
    }
    if (cfg_load(&x->night, sizeof(x->night), night_keys, file, sets, v->n > 0, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    if (night_check(&x->night, &e) == 0)
        return CTL_OK;
    cfg_where(&e, night_keys, file, sets, v->n > 0);
    return ctl_say_err(&e, CTL_USAGE);
}

/* ---- answers ---- */

static int write_page(const char *file, const struct played *v, size_t n)
{
    struct buf b;
    FILE *f;
    bool good;

    buf_init(&b);
    page_html(&b, v, n);
    f = b.failed ? NULL : fopen(file, "w");
    good = f != NULL && fwrite(b.data, 1, b.len, f) == b.len;
    if (f != NULL && fclose(f) != 0)
        good = false;
    buf_fini(&b);
    return good ? CTL_OK : ctl_fail(CTL_REFUSED, "%s: %s", file, b.failed ? "out of memory" : strerror(errno));
}

static int print_all(const struct ctl *c, const struct played *v, size_t n)
{
    struct buf b;

    buf_init(&b);
    if (c->form == FORM_JSON)
        report_json(&b, v, n);
    else
        report_table(&b, v, n);
    if (!b.failed)
        ctl_put_out(&b);
    buf_fini(&b);
    return c->html != NULL ? write_page(c->html, v, n) : CTL_OK;
}

int cmd_rehearse(struct ctl *c, char **argv)
{
    struct played *v = calloc(VARIANTS_MAX, sizeof(*v));
    struct variants vary = { .n = 0 };
    size_t n = 0, all, played = 0;
    int rc = CTL_OK;

    if (v == NULL)
        return ctl_fail(CTL_REFUSED, "out of memory");
    if (c->form == FORM_YAML)
        rc = ctl_fail(CTL_USAGE, "rehearse answers as table or json");
    if (rc == CTL_OK && c->vary != NULL)
        rc = read_variants(&vary, c->vary);
    all = vary.n > 0 ? vary.n : 1;
    for (; rc == CTL_OK && n < all; n++) /* all are read before the first is played */
        rc = read_night(&v[n], argv[0], &vary, n);
    for (; rc == CTL_OK && played < all; played += rc == CTL_OK)
        rc = play_one(&v[played]);
    if (rc == CTL_OK)
        rc = print_all(c, v, all);
    for (size_t i = 0; i < n; i++) {
        if (i < played)
            figures_fini(&v[i].f);
        cfg_clear(&v[i].night, night_keys);
    }
    free(v);
    return rc;
}
