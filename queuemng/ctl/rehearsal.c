/* rehearsal.c: see the header. The night is played in rehearse/; here are files, the terminal, and
 * the variants that are played one after the other. */
#include "queuemng/ctl/rehearsal.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/text.h"
#include "common/config/cfg.h"
#include "common/trail/trail_files.h"
#include "queuemng/ctl/options.h"
#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/policy/schedule.h"
#include "rehearse/page.h"
#include "rehearse/past.h"
#include "rehearse/play.h"
#include "rehearse/report.h"

/* ---- a past night: arrivals from a file ---- */

#define CSV_BYTES (16u << 20)
#define PATH_BYTES 1200

/* Reads crowd.arrivals_csv, if the night names one: beside `file`, the night's own. CTL_... */
static int past_files_csv(struct night *n, const char *file)
{
    const char *name = n->crowd.arrivals_csv, *slash = strrchr(file, '/');
    char path[PATH_BYTES], *text;
    struct stat st;
    struct err e = { 0 };
    int64_t got;
    int rc;

    if (name == NULL || name[0] == '\0')
        return CTL_OK;
    if (n->crowd.arrivals.n > 0)
        return ctl_fail(CTL_USAGE, "%s: crowd.arrivals_csv: there is crowd.arrivals already; leave one of them out",
                        file);
    snprintf(path, sizeof(path), "%.*s%s", name[0] == '/' || slash == NULL ? 0 : (int)(slash + 1 - file), file, name);
    text = malloc(CSV_BYTES + 1);
    if (text == NULL)
        return ctl_fail(CTL_REFUSED, "out of memory");
    got = file_read(path, FILE_ANY, text, CSV_BYTES, &st, &e);
    rc = (int)got;
    if (got >= 0) {
        text[got] = '\0';
        rc = strlen(text) < (size_t)got ? err_set(&e, SQ_EINVAL, "%s: it has bytes of 0, and is no text", path)
                                        : past_csv(&n->crowd.arrivals, text, path, &e);
    }
    free(text);
    return rc < 0 ? ctl_say_err(&e, CTL_USAGE) : CTL_OK;
}

/* ---- the audit trail ---- */

static int read_file(struct past *p, const char *path, const struct queue_def *d)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t cap = 0;
    bool bad;

    if (f == NULL)
        return ctl_fail(CTL_USAGE, "%s: %s", path, strerror(errno));
    while (getline(&line, &cap, f) > 0)
        past_line(p, line, d);
    bad = ferror(f) != 0;
    free(line);
    fclose(f);
    return bad ? ctl_fail(CTL_REFUSED, "%s: cannot be read whole", path) : CTL_OK;
}

/* deep: also the folders in it. *files: how many were read. */
static int read_dir(struct past *p, const char *dir, const struct queue_def *q, bool deep, unsigned *files)
{
    DIR *d = opendir(dir);
    char path[PATH_BYTES];
    int rc = CTL_OK;

    if (d == NULL)
        return ctl_fail(CTL_USAGE, "%s: %s", dir, strerror(errno));
    for (const struct dirent *x; rc == CTL_OK && (x = readdir(d)) != NULL;) {
        struct stat st;

        if (x->d_name[0] == '.' || snprintf(path, sizeof(path), "%s/%s", dir, x->d_name) >= (int)sizeof(path))
            continue;
        if (trail_file_day("audit", x->d_name) >= 0) {
            rc = read_file(p, path, q);
            ++*files;
        } else if (deep && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            rc = read_dir(p, path, q, false, files);
        }
    }
    closedir(d);
    return rc;
}

/* Reads audit-*.jsonl of the folder, and of those in it: one of each node. CTL_... */
static int past_files_audit(struct past *p, const char *dir, const struct night *n)
{
    const char *text = n->crowd.from;
    const struct queue_def *d = night_queue(n);
    unsigned files = 0;
    int64_t from = 0;
    int rc;

    if (d == NULL)
        return ctl_fail(CTL_USAGE, "crowd.queue: must name one of the %zu queues", n->queues.n);
    if (text != NULL && text[0] != '\0' && schedule_parse(text, &from) < 0)
        return ctl_fail(CTL_USAGE, "crowd.from: \"%s\" is no date and time with a zone, like 2027-01-31T20:00:00Z", text);
    rc = read_dir(p, dir, d, true, &files);
    if (rc != CTL_OK)
        return rc;
    if (files == 0)
        return ctl_fail(CTL_USAGE, "%s: no audit-*.jsonl in it, nor in the folders of it (audit_dir of the segment "
                        "nodes)", dir);
    rc = past_end(p, from, n->for_ms);
    if (rc < 0)
        return rc == SQ_ENOMEM ? ctl_fail(CTL_REFUSED, "out of memory")
                               : ctl_fail(CTL_USAGE, "%s: nobody joined queue %s in that time", dir, d->name);
    fprintf(stderr, "%u people of %s are played, in place of crowd.arrivals", p->n_people, dir);
    if (p->before + p->after + p->missing > 0)
        fprintf(stderr, "; left out: %llu who came before the night, %llu after it (for, crowd.from); %llu lines are "
                "missing in the trail, or cut", (unsigned long long)p->before, (unsigned long long)p->after,
                (unsigned long long)p->missing);
    fputc('\n', stderr);
    return CTL_OK;
}

/* ---- the night ---- */

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
    fprintf(stderr, "\r%s%s%u of %u s of the night; %.0f s to go   ", p->name,
            p->name[0] != '\0' ? ": " : "", second, of, took / second * (of - second));
    if (second == of)
        fputs("\r\033[K", stderr);
}

static int play_one(struct played *x)
{
    struct progress p = { x->name, seconds_now() };
    struct play_watch watch = { isatty(STDERR_FILENO) == 1 ? show_progress : NULL, &p };
    int rc = play_night(&x->f, &x->night, watch);

    if (rc == SQ_EFULL)
        return ctl_fail(CTL_REFUSED, "a lane has more than 65535 segments: give the queue a larger "
                        "segment_capacity, or more lanes");
    return rc < 0 ? ctl_fail(CTL_REFUSED, "out of memory") : CTL_OK;
}

/* ---- variants ---- */

struct variants {
    char key[80];             /* the word on the line */
    char dotted[160];         /* in the file */
    char value[VARIANTS_MAX][40];
    size_t n;
    double from, to;          /* a range; both 0: a list */
};

static const char *const short_keys[][2] = { { "routers", "cluster.routers" },
                                             { "nodes", "cluster.segment_nodes" },
                                             { "rate", "release_per_s" },
                                             { "max_active", "max_active" },
                                             { NULL, NULL } };

static bool put_range(struct variants *v, const char *text)
{
    const char *dots = strstr(text, "..");
    char first[24];
    double from, to;

    if (dots == NULL || (size_t)(dots - text) >= sizeof(first))
        return false;
    snprintf(first, sizeof(first), "%.*s", (int)(dots - text), text);
    if (!ctl_number(first, &from) || !ctl_number(dots + 2, &to) || to <= from)
        return false;
    for (int i = 0; i < STEPS; i++) {
        double at = from + (to - from) * i / (STEPS - 1);

        if (from == floor(from) && to == floor(to))
            at = floor(at + 0.5);
        snprintf(v->value[v->n], sizeof(v->value[0]), "%.10g", at);
        v->n += v->n == 0 || strcmp(v->value[v->n], v->value[v->n - 1]) != 0;
    }
    v->from = from;
    v->to = to;
    return true;
}

static int read_variants(struct variants *v, const char *text, const char *queue)
{
    const char *eq = strchr(text, '=');
    struct near near;

    if (eq == NULL || eq == text || eq[1] == '\0' || (size_t)(eq - text) >= sizeof(v->key))
        return ctl_fail(CTL_USAGE, "--vary %.60s: KEY=VALUE,VALUE or KEY=FROM..TO is expected, as routers=2,4,8",
                        text);
    snprintf(v->key, sizeof(v->key), "%.*s", (int)(eq - text), text);
    snprintf(v->dotted, sizeof(v->dotted), "%s", v->key);
    near = near_to(v->key);
    if (strchr(v->key, '.') == NULL && cfg_find_name(night_keys, v->key, strlen(v->key)) == NULL) {
        for (size_t i = 0; short_keys[i][0] != NULL; i++)
            near_try(&near, short_keys[i][0]);
        if (near.best > 0)
            return ctl_fail(CTL_USAGE, "--vary %.60s: no such key%s%s%s allowed: routers, nodes, rate, max_active, or "
                            "one of the file with dots", text, near.name != NULL ? "; did you mean " : "",
                            near.name != NULL ? near.name : "", near.name != NULL ? "?" : ";");
    }
    for (size_t i = 0; short_keys[i][0] != NULL; i++)
        if (strcmp(v->key, short_keys[i][0]) == 0) /* keys without a dot: the queue's */
            snprintf(v->dotted, sizeof(v->dotted), "%s%s%s%s", i < 2 ? "" : "queues.", i < 2 ? "" : queue,
                     i < 2 ? "" : ".", short_keys[i][1]);
    if (put_range(v, eq + 1))
        return CTL_OK;
    if (strstr(eq, "..") != NULL)
        return ctl_fail(CTL_USAGE, "--vary %.60s: FROM..TO are two numbers, the lower one first", text);
    for (const char *p = eq;; ) {
        size_t n = strcspn(++p, ",");

        if (v->n == VARIANTS_MAX || n == 0 || n >= sizeof(v->value[0]))
            return ctl_fail(CTL_USAGE, "--vary %.60s: 1 to %d values are allowed", text, VARIANTS_MAX);
        snprintf(v->value[v->n++], sizeof(v->value[0]), "%.*s", (int)n, p);
        p += n;
        if (*p == '\0')
            return CTL_OK;
    }
}

/* Refuses the keys with which the trail was read. */
static int trail_bears(const struct variants *v)
{
    static const char *const keys[] = { "crowd.queue", "crowd.from", "for" };

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (strcmp(v->dotted, keys[i]) == 0)
            return ctl_fail(CTL_USAGE, "--vary %s: --from-audit reads the trail once, with what the file "
                            "says: change it there", v->key);
    return CTL_OK;
}

/* Tells what is wrong by the user's word: cfg_load() calls it --set. */
static int wrong_night(const struct err *e)
{
    static const char set[] = "--set";
    size_t n = sizeof(set) - 1;

    return strncmp(e->text, set, n) == 0 ? ctl_fail(CTL_USAGE, "--vary%s", e->text + n) : ctl_say_err(e, CTL_USAGE);
}

static void say_late(const struct night *n)
{
    uint64_t all = night_arrived(n, INT64_MAX / 2), in_time = night_arrived(n, n->for_ms);

    if (all > in_time)
        fprintf(stderr, "%llu of %llu people come when the night is over (for): they are not played\n",
                (unsigned long long)(all - in_time), (unsigned long long)all);
}

/* Costs and people that stand in no night's file. */
struct given {
    struct past past;
    struct night_costs costs;
    bool costs_given; /* by --costs */
};

/* A file of segqctl measure. */
static int read_costs(struct given *g, const char *file)
{
    struct err e = { 0 };

    if (file == NULL)
        return CTL_OK;
    g->costs_given = true;
    return cfg_load(&g->costs, sizeof(g->costs), night_costs_file, file, NULL, 0, &e) < 0 ? ctl_say_err(&e, CTL_USAGE) : CTL_OK;
}

/* The file with one value in place of its own; NULL: as it is. */
static int read_night(struct played *x, const char *file, const struct given *given, const struct variants *v, size_t i)
{
    const struct past *past = &given->past;
    char set[240], cost[NIGHT_COSTS][60];
    const char *sets[NIGHT_COSTS + 1];
    struct err e = { 0 };
    size_t n = 0;
    int rc;

    for (; given->costs_given && n < NIGHT_COSTS; n++) {
        snprintf(cost[n], sizeof(cost[n]), "cluster.%s=%.9g", night_cost_keys[n].key,
                 *(const double *)((const char *)&given->costs + night_cost_keys[n].offset));
        sets[n] = cost[n];
    }
    if (v->n > 0) { /* the last one counts */
        sets[n++] = set;
        snprintf(set, sizeof(set), "%s=%s", v->dotted, v->value[i]);
        snprintf(x->name, sizeof(x->name), "%.20s=%.40s", v->key, v->value[i]);
    }
    if (cfg_load(&x->night, sizeof(x->night), night_keys, file, sets, n, &e) < 0)
        return wrong_night(&e);
    rc = past_files_csv(&x->night, file);
    if (rc != CTL_OK)
        return rc;
    x->night.past = past->people;
    x->night.n_past = past->n_people;
    if (night_check(&x->night, &e) == 0) {
        if (v->n == 0) /* variants are said once, with the file as it is */
            say_late(&x->night);
        return CTL_OK;
    }
    cfg_where(&e, night_keys, file, sets, n);
    return wrong_night(&e);
}

/* ---- the least value that does it ---- */

static const char *const find_words[] = { "p50", "p95", "p99", "max", NULL };

struct goal {
    int which; /* place in find_words */
    int64_t below_ms;
};

static int read_goal(struct goal *g, const char *text)
{
    static const struct cfg_key word = { .key = "wait", .type = CFG_ENUM, .words = find_words };
    static const struct cfg_key span = { .key = "wait", .type = CFG_MS, .min = 1, .max = NIGHT_MS_MAX };
    char which[8], below[24], more;

    if (sscanf(text, " wait %7s < %23s %c", which, below, &more) == 2 &&
        cfg_text_set(&g->which, &word, which, false) == 0 && cfg_text_set(&g->below_ms, &span, below, false) == 0)
        return CTL_OK;
    return ctl_fail(CTL_USAGE, "--find '%.60s': 'wait p50|p95|p99|max < TIME' is expected, as 'wait p95 < 20m'",
                    text);
}

/* People who still wait when the night is over count as waits without end. */
static bool is_reached(const struct goal *g, const struct figures *f)
{
    return f->goal[g->which] * 1000 < (double)g->below_ms;
}

static int play_value(struct played *x, const char *file, const struct given *given, struct variants *v, double value)
{
    int rc;

    snprintf(v->value[0], sizeof(v->value[0]), "%.10g", value);
    rc = read_night(x, file, given, v, 0);
    return rc == CTL_OK ? play_one(x) : rc;
}

/* Plays the end of the range, then halves it. *best: of x, the least that does it; *n: none. */
static int find_least(struct played *x, size_t *n, size_t *best, const char *file, const struct given *given,
                      struct variants *v, const struct goal *g)
{
    bool whole = v->from == floor(v->from) && v->to == floor(v->to);
    double low = v->from, high = v->to, at = low;
    int rc = play_value(&x[0], file, given, v, high);

    *n = rc == CTL_OK;
    *best = 0;
    if (rc != CTL_OK || !is_reached(g, &x[0].f)) {
        *best = 1;
        return rc;
    }
    while (*n < VARIANTS_MAX && rc == CTL_OK && high - low > (whole ? 0 : (v->to - v->from) / 200)) {
        rc = play_value(&x[*n], file, given, v, at); /* the lower end first */
        if (rc != CTL_OK)
            break;
        if (is_reached(g, &x[*n].f)) {
            high = at;
            *best = *n;
        } else {
            low = whole ? at + 1 : at;
        }
        ++*n;
        at = whole ? floor((low + high) / 2) : (low + high) / 2;
    }
    return rc;
}

/* ---- answers ---- */

/* For scripts: a night that breaks a promise is no success. */
static int kept(const struct played *v)
{
    struct verdict judged[FIGURES_VERDICTS];

    return figures_judge(&v->f, &v->night, judged) == 0 ? CTL_OK : CTL_REFUSED;
}

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

static void say_best(const struct ctl *c, const struct played *v, size_t n, size_t best)
{
    if (best == n)
        (void)ctl_fail(CTL_REFUSED, "no value of the range does it: %s", c->find);
    else
        fprintf(stderr, "the least that does it: %s%s\n", v[best].name,
                kept(&v[best]) != CTL_OK ? "; but not every promise is kept" : "");
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

static void all_over(struct played *v)
{
    for (size_t i = 0; i < VARIANTS_MAX; i++) { /* rows that were not used are zero */
        figures_fini(&v[i].f);
        cfg_clear(&v[i].night, night_keys);
    }
    free(v);
}

static int play_all(struct played *v, size_t *n, const char *file, const struct given *given, const struct variants *vary)
{
    int rc = CTL_OK;

    /* all are read before one is played */
    for (*n = 0; rc == CTL_OK && *n < (vary->n > 0 ? vary->n : 1); ++*n)
        rc = read_night(&v[*n], file, given, vary, *n);
    for (size_t i = 0; rc == CTL_OK && i < *n; i++)
        rc = play_one(&v[i]);
    return rc;
}

static int find(const struct ctl *c, struct played *v, const char *file, const struct given *given, struct variants *vary)
{
    size_t n, best;
    struct goal g;
    int rc = read_goal(&g, c->find);

    if (rc == CTL_OK && vary->to <= vary->from)
        rc = ctl_fail(CTL_USAGE, "--find looks in the range of --vary KEY=FROM..TO, as routers=1..16");
    if (rc == CTL_OK)
        rc = find_least(v, &n, &best, file, given, vary, &g);
    if (rc == CTL_OK)
        rc = print_all(c, v, n);
    if (rc != CTL_OK)
        return rc;
    say_best(c, v, n, best);
    return best < n ? kept(&v[best]) : CTL_REFUSED;
}

static int read_past(struct past *past, const char *dir, const char *file)
{
    struct night n = { 0 };
    struct err e = { 0 };
    int rc = cfg_load(&n, sizeof(n), night_keys, file, NULL, 0, &e) < 0 ? ctl_say_err(&e, CTL_USAGE)
                                                                        : past_files_audit(past, dir, &n);

    cfg_clear(&n, night_keys);
    return rc;
}

int cmd_rehearse(struct ctl *c, char **argv)
{
    struct played *v = calloc(VARIANTS_MAX, sizeof(*v));
    struct variants vary = { .n = 0 };
    struct played as_is = { .name = "" };
    struct given given = { .costs_given = false };
    int rc = CTL_OK;
    size_t n;

    if (v == NULL)
        return ctl_fail(CTL_REFUSED, "out of memory");
    if (c->form == FORM_YAML)
        rc = ctl_fail(CTL_USAGE, "rehearse answers as table or json");
    if (rc == CTL_OK)
        rc = read_costs(&given, c->costs);
    if (rc == CTL_OK && c->from_audit != NULL)
        rc = read_past(&given.past, c->from_audit, argv[0]);
    if (rc == CTL_OK && c->vary != NULL) {
        rc = read_night(&as_is, argv[0], &given, &vary, 0);
        if (rc == CTL_OK)
            rc = read_variants(&vary, c->vary, night_queue(&as_is.night)->name);
        cfg_clear(&as_is.night, night_keys);
        if (rc == CTL_OK && c->from_audit != NULL)
            rc = trail_bears(&vary);
    }
    if (rc == CTL_OK && c->find != NULL) {
        rc = find(c, v, argv[0], &given, &vary);
    } else if (rc == CTL_OK) {
        rc = play_all(v, &n, argv[0], &given, &vary);
        if (rc == CTL_OK)
            rc = print_all(c, v, n);
        if (rc == CTL_OK && n == 1) /* several are compared */
            rc = kept(v);
    }
    all_over(v);
    past_fini(&given.past);
    return rc;
}
