/* cluster.c: GET /v1/admin/cluster and /targets. */
#include "queuemng/admin/cluster.h"

#include "queuemng/admin/objects.h"

#define INT(x) ((json_int_t)(x))

struct queues {
    const struct mng *m;
    json_t *list;
};

static void add_queue(void *ctx, const void *view)
{
    const struct mng_queue_view *q = view;
    struct queues *x = ctx;
    json_t *j = admin_queue_json(q);

    (void)json_object_set_new(j, "lanes", admin_lanes_json(x->m, q->id, SIZE_MAX));
    (void)json_array_append_new(x->list, j);
}

void admin_cluster(struct admin_call *c)
{
    struct queues x = { .m = c->s->mng, .list = json_array() };
    struct mng_counts n;
    json_t *j;

    mng_count(x.m, &n);
    mng_each_queue(x.m, add_queue, &x);
    j = json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "manager", c->s->cfg->node,
                  "epoch", INT(n.epoch), "map_version", INT(n.map_version), "released",
                  INT(n.released), "moves_started", INT(n.moves_started), "moves_committed",
                  INT(n.moves_committed), "moves_aborted", INT(n.moves_aborted),
                  "lost_segments", INT(n.lost_segments), "rebuilt_segments", INT(n.rebuilt),
                  "queues", x.list);
    admin_set_lists(j, c->s, "");
    admin_json(c->a, 200, j);
}

/* ---- Prometheus HTTP service discovery ------------------------------------------- */

static void target(json_t *list, const char *addr, const char *role, const char *node)
{
    if (addr != NULL && addr[0] != 0)
        (void)json_array_append_new(list, json_pack("{s:[s],s:{s:s,s:s}}", "targets", addr,
                                                    "labels", "role", role, "node", node));
}

static void node_target(void *ctx, const void *view)
{
    const struct mng_node_view *n = view;

    if (!n->retired)
        target(ctx, n->admin, "segment", n->name);
}

static void task_target(void *ctx, const void *view)
{
    const struct mng_task_node_view *n = view;

    target(ctx, n->admin, "task", n->name);
}

static void router_target(void *ctx, const void *view)
{
    const struct mng_router_view *r = view;

    target(ctx, r->admin, "router", r->name);
}

void admin_targets(struct admin_call *c)
{
    json_t *list = json_array();

    target(list, admin_addr(c->s->admin), "queuemng", c->s->cfg->node);
    mng_each_router(c->s->mng, router_target, list);
    mng_each_node(c->s->mng, node_target, list);
    mng_each_task_node(c->s->mng, task_target, list);
    admin_json(c->a, 200, list);
}
