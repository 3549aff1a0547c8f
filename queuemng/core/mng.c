/* mng.c: the manager made and freed. */
#include "queuemng/core/mng.h"

#include <stdlib.h>
#include <string.h>

#include "queuemng/chain/queue_life.h"
#include "queuemng/state/node.h"
#include "queuemng/state/state.h"

struct mng *mng_new(const struct mng_opts *o)
{
    struct mng *m = calloc(1, sizeof(*m));

    if (m == NULL)
        return NULL;
    m->opts = *o;
    if (m->opts.tick_ms == 0)
        m->opts.tick_ms = 100;
    if (m->opts.lost_after_ms == 0)
        m->opts.lost_after_ms = 30000;
    if (m->opts.skip_after_ms == 0)
        m->opts.skip_after_ms = 5000;
    if (m->opts.forget_after_ms == 0)
        m->opts.forget_after_ms = 300000;
    if (m->opts.undo_ms == 0)
        m->opts.undo_ms = 600000;
    strncpy(m->issuer, o->issuer != NULL ? o->issuer : "segq", sizeof(m->issuer) - 1);
    m->opts.issuer = m->issuer;
    rng_seed(&m->rng, o->seed);
    m->next_seg = m->next_queue = m->next_node = m->next_move = 1;
    list_init(&m->routers);
    list_init(&m->queues);
    list_init(&m->active);
    list_init(&m->puts);
    list_init(&m->dirty_lanes);
    list_init(&m->urgent);
    list_init(&m->todo);
    list_init(&m->moves);
    map_init(&m->queue_by_id, 0);
    map_init(&m->seg_by_id, 0);
    map_init(&m->peer_node, 0);
    map_init(&m->peer_router, 0);
    map_init(&m->queue_by_name, rng_u64(&m->rng));
    return m;
}

void mng_free(struct mng *m)
{
    if (m == NULL)
        return;
    each_queue(m, q) /* segments still point to their moves */
        queue_free(m, q);
    each_move(m, v)
        free(v);
    each_router(m, r)
        free(r);
    each_node(m, n)
        node_free(n);
    free(m->node);
    map_fini(&m->queue_by_id);
    map_fini(&m->seg_by_id);
    map_fini(&m->peer_node);
    map_fini(&m->peer_router);
    map_fini(&m->queue_by_name);
    free(m);
}

uint64_t mng_fenced_by(const struct mng *m)
{
    return m->fenced_by;
}

bool mng_is_foreign(const struct mng *m)
{
    return nodes_are_foreign(m);
}
