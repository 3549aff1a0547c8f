/* segqctl_steer.c: what an operator turns on a launch night, each in one short line, and the
 * logs of what happened and of who changed what. (`queue set` can change every key.) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/segqctl.h"
#include "queuemng/segqctl_text.h"
#include "queuemng/segqctl_view.h"

/* PATCH of the queue; takes doc (NULL: no memory). if_match NULL: whatever version. */
static int patch(struct ctl *c, const char *queue, json_t *doc, const char *if_match,
                 view_fn view)
{
    char path[512], *body = doc != NULL ? json_dumps(doc, JSON_COMPACT) : NULL;
    struct ctl_call call = { .method = "PATCH", .path = path, .body = body,
                             .if_match = if_match };
    int rc = CTL_REFUSED;

    json_decref(doc);
    if (body == NULL) {
        fputs("segqctl: out of memory\n", stderr);
    } else if (!ctl_path_set(path, sizeof(path), "/v1/admin/queues/", queue, "")) {
        fprintf(stderr, "segqctl: '%.60s...' is too long\n", queue);
        rc = CTL_USAGE;
    } else {
        rc = ctl_admin_do(c, call, view);
    }
    free(body);
    return rc;
}

static void view_ok(struct buf *b, const json_t *doc)
{
    (void)doc;
    buf_str(b, "ok");
}

/* ---- one key --------------------------------------------------------------------- */

/* The words as one text; none: nothing is said any more. */
int cmd_message(struct ctl *c, int argc, char **argv)
{
    struct buf b;
    int rc;

    buf_init(&b);
    for (int i = 1; i < argc; i++) {
        buf_str(&b, i > 1 ? " " : "");
        buf_str(&b, argv[i]);
    }
    buf_byte(&b, 0);
    rc = patch(c, argv[0],
               b.failed ? NULL : json_pack("{s:s}", "message", (const char *)b.data), NULL,
               view_ok);
    buf_fini(&b);
    return rc;
}

static int not_a_number(const char *s)
{
    fprintf(stderr, "segqctl: '%.60s' is not a number\n", s);
    return CTL_USAGE;
}

int cmd_rate(struct ctl *c, int argc, char **argv)
{
    double rate = 0;

    (void)argc;
    if (strcmp(argv[1], "limits") != 0 && !ctl_number(argv[1], &rate))
        return not_a_number(argv[1]);
    return patch(c, argv[0], json_pack("{s:f}", "release_per_s", rate), NULL, view_ok);
}

int cmd_max(struct ctl *c, int argc, char **argv)
{
    double max;

    if (!ctl_number(argv[1], &max) || max != (double)(json_int_t)max)
        return not_a_number(argv[1]);
    return patch(c, argv[0],
                 json_pack("{s:I,s:s*}", "max_active", (json_int_t)max, "mode",
                           argc > 2 ? argv[2] : NULL),
                 NULL, view_ok);
}

/* ---- tiers ----------------------------------------------------------------------- */

/* The limits with this metric's tiers in place of its old ones (or as one more). */
static json_t *with_tiers(const json_t *def, const char *metric, json_t *tiers)
{
    json_t *limits = json_deep_copy(json_object_get(def, "limits")), *x;
    size_t i;

    json_array_foreach(limits, i, x) {
        const char *name = json_string_value(json_object_get(x, "metric"));

        if (name != NULL && strcmp(name, metric) == 0) {
            json_object_set_new(x, "tiers", tiers);
            return limits;
        }
    }
    if (limits == NULL)
        limits = json_array();
    json_array_append_new(limits, json_pack("{s:s,s:o}", "metric", metric, "tiers", tiers));
    return limits;
}

/* Only if nobody has changed the definition since it was read. */
int cmd_tiers(struct ctl *c, int argc, char **argv)
{
    struct ctl_answer a = { 0 };
    struct err e = { 0 };
    char path[512], tag[40];
    json_t *tiers = ctl_tiers(argv + 2, (size_t)argc - 2, &e), *def;
    struct ctl_call call = { .method = "GET", .path = path };
    int rc;

    if (tiers == NULL)
        return ctl_say_err(&e, CTL_USAGE);
    if (!ctl_path_set(path, sizeof(path), "/v1/admin/queues/", argv[0], "")) {
        json_decref(tiers);
        fprintf(stderr, "segqctl: '%.60s...' is too long\n", argv[0]);
        return CTL_USAGE;
    }
    rc = ctl_admin_ask(c, call, &a);
    def = rc == CTL_OK && a.status == 200
              ? json_loadb((const char *)a.body.data, a.body.len, 0, NULL)
              : NULL;
    if (def == NULL) {
        json_decref(tiers);
        rc = rc == CTL_OK ? ctl_say_answer(c, &a, NULL) : rc;
    } else {
        snprintf(tag, sizeof(tag), "\"%lld\"",
                 (long long)json_integer_value(json_object_get(def, "version")));
        rc = patch(c, argv[0],
                   json_pack("{s:o}", "limits", with_tiers(def, argv[1], tiers)), tag, view_ok);
    }
    json_decref(def);
    buf_fini(&a.body);
    return rc;
}

/* ---- logs ------------------------------------------------------------------------ */

int cmd_audit(struct ctl *c, int argc, char **argv)
{
    char path[80];
    struct ctl_call call = { .method = "GET", .path = path };

    if (argc > 0 && (strspn(argv[0], "0123456789") != strlen(argv[0]) || strlen(argv[0]) > 6))
        return not_a_number(argv[0]);
    snprintf(path, sizeof(path), "/v1/admin/audit?n=%s", argc > 0 ? argv[0] : "30");
    return ctl_admin_do(c, call, view_audit);
}

int cmd_events(struct ctl *c, int argc, char **argv)
{
    struct ctl_call call = { .method = "GET", .path = "/v1/admin/live" };

    (void)argc;
    (void)argv;
    return ctl_admin_do(c, call, view_events);
}
