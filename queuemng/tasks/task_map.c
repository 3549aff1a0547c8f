/* task_map.c: see the header. */
#include "queuemng/tasks/task_map.h"

#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/table.h"

static bool add_nodes(const struct mng *m, struct arena *a, struct msg_task_map *g)
{
    g->nodes = arena_array(a, (uint32_t)m->tasks.nodes.n, sizeof(*g->nodes));
    if (g->nodes == NULL)
        return false;
    each_task_node(m, n)
        if (n->addr[0] != '\0')
            g->nodes[g->n_nodes++] = (struct map_task_node){ n->no, arena_strdup(a, n->name),
                                                             arena_strdup(a, n->addr) };
    return !a->failed;
}

static bool add_pool(const struct mng *m, struct arena *a, const struct mpool *p,
                     struct map_pool *r)
{
    const struct mendpoint *e = endpoint_find(m, p->def.endpoint);

    *r = (struct map_pool){ .match = arena_strdup(a, p->def.match),
                            .paused = p->def.paused,
                            .endpoint = arena_strdup(a, p->def.endpoint),
                            .url = e != NULL ? arena_strdup(a, e->def.url) : "",
                            .cancel_on_disconnect = p->def.cancel_on_disconnect,
                            .max_body = (uint32_t)p->def.max_body,
                            .n = p->n,
                            .v = arena_array(a, p->n, sizeof(*r->v)) };
    if (r->v == NULL)
        return false;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct mpart *x = &p->part[i];

        r->v[i] = (struct map_part){ x->no, x->epoch, x->opened ? x->node->no : 0 };
    }
    return !a->failed;
}

static bool map_send(struct mng *m, const struct mrouter *r)
{
    struct arena *a = &m->out->box.mem;
    struct msg_task_map *g = &mng_to(m, r->peer, MSG_TASK_MAP)->task_map;

    g->epoch = m->epoch;
    g->pools = arena_array(a, (uint32_t)m->tasks.pools.n, sizeof(*g->pools));
    if (g->pools == NULL || !add_nodes(m, a, g))
        return false;
    each_pool(m, p)
        if (!add_pool(m, a, p, &g->pools[g->n_pools++]))
            return false;
    return true;
}

void task_maps_flush(struct mng *m)
{
    bool foreign = nodes_are_foreign(m);

    each_router(m, r) {
        if (!r->registered || foreign || r->sent_tasks == m->tasks.map_version)
            continue;
        if (!map_send(m, r))
            m->out->box.failed = true;
        r->sent_tasks = m->tasks.map_version;
    }
}
