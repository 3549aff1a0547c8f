/* mng.c: a manager made, begun and freed; the end of its steps. */
#include "queuemng/core/mng.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/chain/chain.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/chain/move_state.h"
#include "queuemng/core/map.h"
#include "queuemng/release/credit.h"
#include "queuemng/release/pop.h"
#include "queuemng/state/marks.h"
#include "queuemng/state/node.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/records.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/endpoints.h"
#include "queuemng/tasks/records.h"
#include "queuemng/tasks/table.h"

#define LOG_MODULE "mng"

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
    list_init(&m->budgets);
    list_init(&m->tasks.pools);
    list_init(&m->tasks.endpoints);
    list_init(&m->tasks.pins);
    list_init(&m->tasks.routes);
    list_init(&m->tasks.nodes);
    list_init(&m->tasks.gone);
    map_init(&m->tasks.part_by_no, 0);
    map_init(&m->tasks.peer_node, 0);
    m->tasks.next_part = m->tasks.next_node = 1;
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
    each_pool(m, p)
        pool_free(m, p);
    each_endpoint(m, x)
        endpoint_free(m, x);
    each_pin(m, x)
        defined_free(m, DEF_PIN, x);
    each_route(m, x)
        defined_free(m, DEF_ROUTE, x);
    each_budget(m, b)
        defined_free(m, DEF_BUDGET, b);
    each_task_node(m, n)
        free(n);
    each_gone(m, g)
        free(g);
    map_fini(&m->tasks.part_by_no);
    map_fini(&m->tasks.peer_node);
    map_fini(&m->queue_by_id);
    map_fini(&m->seg_by_id);
    map_fini(&m->peer_node);
    map_fini(&m->peer_router);
    map_fini(&m->queue_by_name);
    free(m);
}

void mng_set_epoch(struct mng *m, uint64_t epoch)
{
    m->given_epoch = epoch;
}

/* Polling intervals that people were told by an earlier manager. */
static void told_load(const struct mng *m, struct mlane *l)
{
    l->most_ms = (uint32_t)u64_min(u64_max(l->stored_told_ms, poll_max_longest(l->q)),
                                   UINT32_MAX / 2);
    l->told_ms = m->now_ms + l->most_ms;
}

void mng_start(struct mng *m, msec_t now_ms, int64_t wall_ms, struct mng_out *out)
{
    assert(!m->started);
    mng_begin(m, now_ms, out);
    m->wall_raw_ms = wall_ms;
    m->wall_ms = wall_steady(&m->stamp_guard, now_ms, wall_ms);
    m->epoch = m->given_epoch != 0 ? m->given_epoch : m->epoch + 1;
    m->started = true;
    m->started_ms = m->now_ms;
    while (m->cluster_id == 0) /* a positive number in JSON */
        m->cluster_id = rng_u64(&m->rng) >> 2;
    m->put_meta = true;
    m->seg_reserved = m->next_seg + MNG_SEG_IDS;
    m->map_version = m->epoch << 32 | 1;
    m->tomb_floor = m->map_version;
    m->second_ms = now_ms + 1000;
    m->sched_ms = wall_believed(&m->wall_guard, m->now_ms, wall_ms);
    each_node(m, n)
        n->down_ms = now_ms;
    each_task_node(m, n)
        n->down_ms = now_ms;
    each_queue(m, q) {
        if (q->def.name == NULL) { /* definition deleted, chain record not yet */
            queue_free(m, q);
            continue;
        }
        q->map_version = m->map_version;
        sched_set(m, q);
        queue_fit_lanes(m, q);
        for (unsigned i = 0; i < LANES_MAX; i++) {
            marks_load_end(m, &q->lane[i]);
            told_load(m, &q->lane[i]);
        }
    }
    log_info("event=term epoch=%llu queues=%zu nodes=%u", (unsigned long long)m->epoch,
             m->queues.n, m->n_nodes);
    mng_end(m);
}

uint64_t mng_fenced_by(const struct mng *m)
{
    return m->fenced_by;
}

bool mng_is_foreign(const struct mng *m)
{
    return nodes_are_foreign(m);
}

/* ---- the end of every step ------------------------------------------------------------------------ */

static void records_flush(struct mng *m)
{
    if (m->put_meta && m->started)
        meta_put(m);
    m->put_meta = m->put_meta && !m->started;
    list_each_of(&m->puts, struct mqueue, in_puts, q) {
        if (q->put_def)
            def_put(m, q);
        if (q->put_chain)
            chain_put(m, q);
        for (unsigned i = 0; i < LANES_MAX && q->put_marks; i++)
            marks_flush(m, &q->lane[i]);
        if (q->put_sched)
            sched_put(m, q);
        q->put_def = q->put_chain = q->put_marks = q->put_sched = false;
        list_remove(&m->puts, &q->in_puts);
    }
}

void mng_end(struct mng *m)
{
    struct list_node *it;
    bool nobody;

    while ((it = list_first(&m->dirty_lanes)) != NULL) {
        struct mlane *l = container_of(it, struct mlane, in_dirty);

        list_remove(&m->dirty_lanes, it);
        l->dirty = false;
        nobody = l->waiting == 0;
        lane_plan(m, l);
        if (nobody != (l->waiting == 0) && (nobody || credit_is_due(l->q)))
            queue_urgent(m, l->q);
    }
    /* The first does not wait for a tick; nor does credit when nobody waits any more. */
    while ((it = list_first(&m->urgent)) != NULL) {
        list_remove(&m->urgent, it);
        pops_tick(m, container_of(it, struct mqueue, in_urgent));
    }
    records_flush(m);
    shares_flush(m);
    tasks_put(m);
    assert(m->puts.n == 0 && m->urgent.n == 0);
    each_node(m, n)
        batch_send(m, n);
    maps_flush(m);
    task_maps_flush(m);
    stats_look(m);
    if (m->stats_now)
        stats_flush(m);
    m->stats_now = false;
    out_sends(m);
    if (m->out->box.failed)
        log_error("event=no_memory what=step");
}
