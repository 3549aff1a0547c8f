/* steer.c: the keys that an operator turns on a launch night, each with a command of its own
 * (`queue set` can change every key), and the log of changes. */
#include "queuemng/ctl/steer.h"

#include <stdio.h>
#include <string.h>

#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/ctl/files.h"
#include "queuemng/ctl_view/risk_view.h"
#include "queuemng/ctl_view/text.h"
#include "queuemng/ctl/words.h"

#define QUEUE "/v1/admin/queues/*"

/* Takes doc (NULL: no memory). */
static int patch(struct ctl *c, const char *queue, json_t *doc)
{
    struct ctl_call call = { .method = "PATCH", .path = QUEUE, .name = queue, .body = doc };
    int rc = CTL_REFUSED;

    if (doc == NULL)
        fputs("segqctl: out of memory, or a text that is not UTF-8\n", stderr);
    else if (c->dry_run)
        rc = cmd_would_change(c, "queue", queue, doc, false);
    else
        rc = cmd_change(c, "queue", call);
    json_decref(doc);
    return rc;
}

/* ---- one key --------------------------------------------------------------------- */

/* The words as one text; none: it takes the message away. */
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

/* 0 is "by the limits" in the definition; an operator may mean a stop. */
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

/* Only if nobody has changed the definition since it was read. */
static int tiers_put(struct ctl *c, char **argv, const json_t *def, json_t *tiers)
{
    json_t *body = json_pack("{s:o}", "limits", with_tiers(def, argv[1], tiers)), *now;
    char tag[40];
    struct ctl_call call = { .method = "PATCH", .path = QUEUE, .name = argv[0], .body = body,
                             .if_match = tag };
    struct buf b;
    int rc;

    if (body == NULL) {
        fprintf(stderr, "segqctl: '%.80s' does not limit %.80s\n", argv[1], argv[0]);
        return CTL_REFUSED;
    }
    if (c->dry_run) {
        rc = cmd_would_change(c, "queue", argv[0], body, false);
        json_decref(body);
        return rc;
    }
    snprintf(tag, sizeof(tag), "\"%" JSON_INTEGER_FORMAT "\"",
             json_integer_value(json_object_get(def, "version")));
    now = ctl_fetch(c, call, &rc);
    if (now != NULL) {
        buf_init(&b);
        view_limits(&b, now, argv[1]);
        view_limits_were(&b, def, argv[1]);
        ctl_put_out(&b);
        buf_fini(&b);
    }
    json_decref(now);
    json_decref(body);
    return rc;
}

int cmd_tiers(struct ctl *c, int argc, char **argv)
{
    bool none = argc == 3 && strcmp(argv[2], "none") == 0;
    struct err e = { 0 };
    json_t *tiers = none ? NULL : ctl_tiers(argv + 2, (size_t)argc - 2, &e), *def;
    int rc;

    if (tiers == NULL && !none)
        return ctl_say_err(&e, CTL_USAGE);
    def = ctl_get(c, QUEUE, argv[0], &rc);
    if (def != NULL)
        rc = tiers_put(c, argv, def, tiers);
    json_decref(def);
    json_decref(tiers);
    return rc;
}

/* ---- the log of changes ---------------------------------------------------------- */

int cmd_audit(struct ctl *c, int argc, char **argv)
{
    const char *n = argc > 0 ? argv[0] : "30";

    if (strspn(n, "0123456789") != strlen(n))
        return not_a_number(n);
    return ctl_do(c, (struct ctl_call){ .method = "GET", .path = "/v1/admin/audit?n=*", .name = n },
                  view_audit);
}
