/* task_figures.c: as task nodes reported last. */
#include "queuemng/admin/task_figures.h"

#define INT(x) ((json_int_t)(x))

static json_t *figures(const struct part_status_row *st)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "scheduled",
                     INT(st->scheduled), "waiting", INT(st->waiting), "running", INT(st->running),
                     "final", INT(st->final), "dead", INT(st->dead), "queues", INT(st->queues),
                     "oldest_ms", INT(st->oldest_ms), "accepted", INT(st->accepted), "started",
                     INT(st->started), "succeeded", INT(st->succeeded), "retried",
                     INT(st->retried), "died", INT(st->died), "expired", INT(st->expired));
}

static void add_part(void *list, const void *view)
{
    const struct mng_part_view *v = view;
    json_t *j = figures(&v->st);

    (void)json_object_update_new(j, json_pack("{s:I,s:I,s:s,s:s,s:b,s:I}", "partition",
                                              INT(v->st.part), "share", INT(v->share), "node",
                                              v->node, "moves_to", v->to, "up", v->up, "epoch",
                                              INT(v->st.part_epoch)));
    (void)json_array_append_new(list, j);
}

struct pools {
    const struct mng *m;
    json_t *list;
    bool with_parts;
};

static void add_pool(void *ctx, const void *view)
{
    const struct mng_pool_view *v = view;
    const struct pools *x = ctx;
    json_t *j = figures(&v->sum), *parts = x->with_parts ? json_array() : NULL;

    if (parts != NULL)
        mng_each_part(x->m, v->def->match, add_part, parts);
    (void)json_object_update_new(j, json_pack("{s:s,s:b,s:I,s:I,s:o*}", "pool", v->def->match,
                                              "paused", v->def->paused, "version",
                                              INT(v->version), "away", INT(v->away), "partitions",
                                              parts));
    (void)json_array_append_new(x->list, j);
}

static void add_node(void *list, const void *view)
{
    const struct mng_task_node_view *n = view;

    (void)json_array_append_new(list, json_pack("{s:s,s:I,s:s,s:s,s:b,s:b,s:I,s:I,s:I,s:I}", "name",
                                                n->name, "no", INT(n->no), "addr", n->addr,
                                                "admin", n->admin, "up", n->up, "draining",
                                                n->draining, "silent_ms", INT(n->silent_ms),
                                                "partitions", INT(n->partitions), "moving",
                                                INT(n->moving), "incarnation",
                                                INT(n->incarnation)));
}

json_t *admin_task_figures(const struct mng *m, bool with_parts)
{
    struct pools x = { m, json_array(), with_parts };
    json_t *nodes = json_array();

    mng_each_pool(m, add_pool, &x);
    mng_each_task_node(m, add_node, nodes);
    return json_pack("{s:o,s:o}", "pools", x.list, "nodes", nodes);
}
