/* nodes.c: drain and forget of segment nodes and task nodes. */
#include "queuemng/ctl/nodes.h"

#include <stdio.h>
#include <string.h>

#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl_view/risk_view.h"
#include "queuemng/ctl_view/text.h"

#define NODE "/v1/admin/nodes/*"

/* New reference; NULL: it is not among them. */
static json_t *node_in(const json_t *doc, const char *name)
{
    json_t *n;
    size_t i;

    json_array_foreach(json_object_get(doc, "nodes"), i, n)
        if (strcmp(ctl_str(n, "name"), name) == 0)
            return json_incref(n);
    return NULL;
}

/* Tasks of its partitions that are to be done, as it reported last. */
static json_int_t tasks_at(const json_t *doc, const char *name)
{
    json_t *pool, *p;
    json_int_t n = 0;
    size_t i, k;

    json_array_foreach(json_object_get(doc, "pools"), i, pool)
        json_array_foreach(json_object_get(pool, "partitions"), k, p)
            if (strcmp(ctl_str(p, "node"), name) == 0)
                n += (json_int_t)(ctl_u64(p, "scheduled") + ctl_u64(p, "waiting") +
                                  ctl_u64(p, "running"));
    return n;
}

/* A segment node, or a task node (which has `partitions`, and `tasks` to be done). New reference;
 * NULL: not known (*rc CTL_OK), or not answered. */
static json_t *node_now(const struct ctl *c, const char *name, int *rc)
{
    json_t *doc = ctl_get(c, "/v1/admin/live?since=9223372036854775807", NULL, rc);
    json_t *n = node_in(doc, name);

    json_decref(doc);
    if (n != NULL || *rc != CTL_OK)
        return n;
    doc = ctl_get(c, "/v1/admin/task-queues", NULL, rc);
    n = node_in(doc, name);
    if (n != NULL)
        (void)json_object_set_new(n, "tasks", json_integer(tasks_at(doc, name)));
    json_decref(doc);
    return n;
}

int cmd_drain(struct ctl *c, int argc, char **argv)
{
    struct ctl_call call = { .method = "POST", .path = NODE "/drain", .name = argv[0] };
    int rc;
    json_t *done = ctl_fetch(c, call, &rc), *n;

    (void)argc;
    if (done == NULL)
        return rc;
    json_decref(done);
    n = node_now(c, argv[0], &rc);
    if (rc == CTL_OK)
        ctl_print(view_drain, n);
    json_decref(n);
    return rc;
}

/* Handles a refusal: if people or tasks are concerned the operator confirms it, and then it is forced. */
static int forget_by_force(struct ctl *c, const char *name, const struct ctl_answer *refusal)
{
    struct ctl_call call = { .method = "POST", .path = NODE "/forget?force=true", .name = name };
    int rc;
    json_t *n = node_now(c, name, &rc);
    struct buf what;

    if (n == NULL || json_is_true(json_object_get(n, "up"))) {
        json_decref(n);
        return rc == CTL_OK ? ctl_say_answer(c, refusal, NULL) : rc;
    }
    buf_init(&what);
    view_forget(&what, n);
    rc = ctl_sure(c, &what, name);
    buf_fini(&what);
    json_decref(n);
    return rc == CTL_OK ? ctl_do(c, call, view_detail) : rc;
}

int cmd_forget(struct ctl *c, int argc, char **argv)
{
    struct ctl_call call = { .method = "POST", .path = NODE "/forget", .name = argv[0] };
    struct ctl_answer a = { 0 };
    int rc = ctl_ask(c, call, &a);

    (void)argc;
    if (rc == CTL_OK)
        rc = a.status == 409 ? forget_by_force(c, argv[0], &a) : ctl_say_answer(c, &a, view_detail);
    buf_fini(&a.body);
    return rc;
}
