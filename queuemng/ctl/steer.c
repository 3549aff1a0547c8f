/* steer.c: what an operator turns on a launch night, each in one short line, and the
 * logs of what happened and of who changed what. (`queue set` can change every key.) */
#include "queuemng/ctl/steer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl/answer_view.h"
#include "queuemng/ctl/ask.h"
#include "queuemng/ctl/log_view.h"
#include "queuemng/ctl/risk_view.h"
#include "queuemng/ctl/text.h"

/* PATCH of the queue; takes doc (NULL: no memory). if_match NULL: whatever version. */
static int patch_ask(struct ctl *c, const char *queue, json_t *doc, const char *if_match,
                     struct ctl_answer *a)
{
    char path[512], *body = doc != NULL ? json_dumps(doc, JSON_COMPACT) : NULL;
    struct ctl_call call = { .method = "PATCH", .path = path, .body = body,
                             .if_match = if_match };
    int rc = CTL_REFUSED;

    json_decref(doc);
    if (body == NULL)
        fputs("segqctl: out of memory\n", stderr);
    else if (!ctl_path_set(path, sizeof(path), "/v1/admin/queues/", queue, ""))
        rc = ctl_too_long(queue);
    else
        rc = ctl_admin_ask(c, call, a);
    free(body);
    return rc;
}

static int patch(struct ctl *c, const char *queue, json_t *doc)
{
    struct ctl_answer a = { 0 };
    int rc = patch_ask(c, queue, doc, NULL, &a);

    if (rc == CTL_OK)
        rc = ctl_say_answer(c, &a, view_done);
    buf_fini(&a.body);
    return rc;
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
               b.failed ? NULL : json_pack("{s:s}", "message", (const char *)b.data));
    buf_fini(&b);
    return rc;
}

static int not_a_number(const char *s)
{
    fprintf(stderr, "segqctl: '%.60s' is not a number\n", s);
    return CTL_USAGE;
}

/* 0 would be "by the limits" in the definition: whoever types it here may mean a stop. */
static int zero_means_two_things(const char *queue)
{
    fprintf(stderr,
            "segqctl: a rate of 0 can mean two things: 'segqctl pause %.80s' lets nobody in, "
            "'segqctl rate %.80s limits' goes by the metrics again\n",
            queue, queue);
    return CTL_USAGE;
}

int cmd_rate(struct ctl *c, int argc, char **argv)
{
    double rate = 0;
    bool limits = strcmp(argv[1], "limits") == 0;

    (void)argc;
    if (!limits && !ctl_number(argv[1], &rate))
        return not_a_number(argv[1]);
    if (!limits && rate == 0)
        return zero_means_two_things(argv[0]);
    return patch(c, argv[0], json_pack("{s:f}", "release_per_s", rate));
}

int cmd_max(struct ctl *c, int argc, char **argv)
{
    double max;

    if (!ctl_number(argv[1], &max) || max != (double)(json_int_t)max)
        return not_a_number(argv[1]);
    return patch(c, argv[0],
                 json_pack("{s:I,s:s*}", "max_active", (json_int_t)max, "mode",
                           argc > 2 ? argv[2] : NULL));
}

/* ---- tiers ----------------------------------------------------------------------- */

/* The limits with this metric's tiers in place of its old ones, or as one more; tiers NULL:
 * without them. NULL: it has none to take away. */
static json_t *with_tiers(const json_t *def, const char *metric, json_t *tiers)
{
    json_t *limits = json_deep_copy(json_object_get(def, "limits")), *x;
    size_t i;

    json_array_foreach(limits, i, x) {
        const char *name = json_string_value(json_object_get(x, "metric"));

        if (name == NULL || strcmp(name, metric) != 0)
            continue;
        if (tiers != NULL)
            json_object_set(x, "tiers", tiers);
        else
            json_array_remove(limits, i);
        return limits;
    }
    if (tiers == NULL) {
        json_decref(limits);
        return NULL;
    }
    if (limits == NULL)
        limits = json_array();
    json_array_append_new(limits, json_pack("{s:s,s:O}", "metric", metric, "tiers", tiers));
    return limits;
}

static int say_limits(const struct ctl *c, const struct ctl_answer *a, const char *metric)
{
    json_t *def = json_loadb((const char *)a->body.data, a->body.len, 0, NULL);
    struct buf b;

    if (a->status != 200 || c->json || def == NULL) {
        json_decref(def);
        return ctl_say_answer(c, a, NULL);
    }
    buf_init(&b);
    view_limits(&b, def, metric);
    ctl_put_out(&b);
    buf_fini(&b);
    json_decref(def);
    return CTL_OK;
}

/* Only if nobody has changed the definition since it was read. */
static int tiers_put(struct ctl *c, char **argv, const json_t *def, json_t *tiers)
{
    json_t *limits = with_tiers(def, argv[1], tiers);
    struct ctl_answer a = { 0 };
    char tag[40];
    int rc;

    if (limits == NULL) {
        fprintf(stderr, "segqctl: '%.80s' does not limit %.80s\n", argv[1], argv[0]);
        return CTL_REFUSED;
    }
    snprintf(tag, sizeof(tag), "\"%lld\"",
             (long long)json_integer_value(json_object_get(def, "version")));
    rc = patch_ask(c, argv[0], json_pack("{s:o}", "limits", limits), tag, &a);
    if (rc == CTL_OK)
        rc = say_limits(c, &a, argv[1]);
    buf_fini(&a.body);
    return rc;
}

int cmd_tiers(struct ctl *c, int argc, char **argv)
{
    bool none = argc == 3 && strcmp(argv[2], "none") == 0;
    struct err e = { 0 };
    json_t *tiers = none ? NULL : ctl_tiers(argv + 2, (size_t)argc - 2, &e), *def;
    char path[512];
    int rc = CTL_USAGE;

    if (tiers == NULL && !none)
        return ctl_say_err(&e, CTL_USAGE);
    if (!ctl_path_set(path, sizeof(path), "/v1/admin/queues/", argv[0], "")) {
        json_decref(tiers);
        return ctl_too_long(argv[0]);
    }
    def = ctl_admin_json(c, path, &rc);
    if (def != NULL)
        rc = tiers_put(c, argv, def, tiers);
    json_decref(def);
    json_decref(tiers);
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
