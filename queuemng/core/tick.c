/* tick.c: the manager by the clock: each tick, and each second. */
#include "queuemng/core/tick.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "queuemng/chain/chain.h"
#include "queuemng/chain/move.h"
#include "queuemng/chain/reconcile.h"
#include "queuemng/core/map.h"
#include "queuemng/core/mng.h"
#include "queuemng/core/queues.h"
#include "queuemng/core/segment_nodes.h"
#include "queuemng/release/budgets.h"
#include "queuemng/release/credit.h"
#include "queuemng/release/eta.h"
#include "queuemng/release/pop.h"
#include "queuemng/release/shadow.h"
#include "queuemng/state/marks.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/endpoints.h"
#include "queuemng/tasks/parts.h"
#include "queuemng/tasks/pools.h"
#include "queuemng/tasks/task_nodes.h"

#define LOG_MODULE     "manager"
#define SUSPECTS_OVER_MS 5000
#define STOOD_STILL_MS 1000 /* a tick so late: this process was stopped, or did something long */

static void reconcile_all(struct mng *m)
{
    each_todo(m, s) {
        if (s->ordered_ms == 0 || m->now_ms - s->ordered_ms >= MNG_AGAIN_MS)
            seg_reconcile(m, s);
    }
}

static void lane_rates(struct mlane *l)
{
    uint64_t joined = l->joined + l->gone_joined;
    double j = joined > l->joined_before ? (double)(joined - l->joined_before) : 0;
    double r = (double)(l->released - l->released_before);

    l->join_per_s = j > l->join_per_s ? j : 0.7 * l->join_per_s + 0.3 * j;
    l->release_per_s = l->release_per_s == 0 ? r : 0.8 * l->release_per_s + 0.2 * r;
    if (l->release_per_s < 0.001)
        l->release_per_s = 0;
    l->joined_before = joined;
    l->let_in = l->released - l->released_before;
    l->released_before = l->released;
}

static bool any_unreachable(const struct mng *m)
{
    each_node(m, n)
        if (!n->registered && n->segs.n != 0)
            return true;
    return false;
}

/* The level goes out with the figures of this second. */
static void flood_look(struct mng *m, struct mqueue *q)
{
    struct flood *f = &q->flood;
    enum challenge_mode mode = queue_challenge_mode(&q->def);

    if (!flood_second(f, mode, (uint64_t)q->def.challenge.from_joins_per_s, m->wall_ms))
        return;
    q->stats_dirty = true;
    log_info("event=challenge queue=%s level=%u why=%s joins_per_s=%llu", q->def.name, f->level,
             f->level > 0 ? flood_whys[f->why] : "calm", (unsigned long long)f->per_s);
}

/* Routers tell theirs once a second, if they have any. */
static void suspects_look(struct mng *m)
{
    each_router(m, r) {
        if (m->now_ms - r->suspects_ms > SUSPECTS_OVER_MS)
            r->n_suspects = 0;
    }
    each_queue(m, q) {
        uint32_t was = q->suspects;

        q->suspects = 0;
        each_router(m, r) {
            for (uint32_t i = 0; i < r->n_suspects; i++)
                q->suspects += r->suspects[i].queue == q->id;
        }
        if ((was > 0) != (q->suspects > 0))
            log_info("event=suspects queue=%s n=%u", q->def.name, q->suspects);
    }
}

static void region_look(struct mng *m)
{
    struct region_joins sum[REGIONS_MAX];
    unsigned n = 0;

    each_router(m, r) {
        r->join_per_s += ((double)r->joined - r->join_per_s) / 20;
        r->joined = 0;
        region_add(sum, &n, r->where.region, r->join_per_s);
    }
    if (region_second(&m->region, sum, n, m->now_ms))
        log_info("event=region_preferred region=%s", m->region.region);
}

/* Queues in which nobody waits cost one look at their limits here, and nothing else. */
static void second(struct mng *m)
{
    region_look(m);
    suspects_look(m);
    m->unreachable = any_unreachable(m);
    deletes_tick(m);
    m->tier_notes = 0;
    each_active(m, q) {
        for (unsigned i = 0; i < q->n_lanes; i++) {
            lane_eta(m, &q->lane[i]);
            lane_rates(&q->lane[i]);
            lane_pace(m, &q->lane[i]);
            lane_touch(m, &q->lane[i]);
        }
        no_show_second(&q->no_show);
        q->stats_dirty = true;
    }
    each_queue(m, q) {
        shadow_second(q);
        if (!q->active)
            idle_figures(m, q);
        flood_look(m, q);
        for (unsigned i = 0; i < q->n_lanes; i++) {
            marks_prune(m, &q->lane[i]);
            if (lane_is_waiting(&q->lane[i]))
                lane_touch(m, &q->lane[i]);
        }
    }
    stats_flush(m);
}

static void queue_idle(struct mng *m, struct mqueue *q)
{
    for (unsigned i = 0; i < q->n_lanes; i++) {
        struct mlane *l = &q->lane[i];

        if (l->waiting + l->returning + l->ready != 0 || l->pop.busy || credit_is_warm(m, l))
            return;
    }
    if (shadow_is_busy(q))
        return;
    for (unsigned i = 0; i < q->n_lanes; i++)
        q->lane[i].join_per_s = q->lane[i].release_per_s = 0;
    list_remove(&m->active, &q->in_active);
    q->active = false;
    q->stats_dirty = true;
}

/* Routers hear of a leap before they see a pass with a stamp of after it. */
static void read_clock(struct mng *m, int64_t wall_ms)
{
    int64_t was_ms = m->stamp_guard.offset_ms;

    m->wall_raw_ms = wall_ms;
    m->wall_ms = wall_steady(&m->stamp_guard, m->now_ms, wall_ms);
    if (llabs(m->stamp_guard.offset_ms - was_ms) > 1000)
        m->stats_now = true;
}

void mng_forgive(struct mng *m, msec_t now_ms)
{
    msec_t late = now_ms - m->tick_due_ms;

    if (m->tick_due_ms == 0 || late < STOOD_STILL_MS)
        return;
    log_warn("event=stood_still ms=%lld", (long long)late);
    m->tick_due_ms = now_ms; /* once for each time */
    each_node (m, n)
        n->down_ms = ms_min(n->down_ms + late, now_ms);
    each_task_node (m, n)
        n->down_ms = ms_min(n->down_ms + late, now_ms);
}

void mng_tick(struct mng *m, msec_t now_ms, int64_t wall_ms, struct mng_out *out)
{
    assert(m->started);
    mng_begin(m, now_ms, out);
    read_clock(m, wall_ms);
    sched_tick(m, now_ms >= m->second_ms);
    nodes_tick(m);
    moves_tick(m);
    takeover_tick(m);
    pool_rates_tick(m);
    budgets_tick(m, now_ms >= m->second_ms);
    reconcile_all(m);
    each_active(m, q)
        pops_tick(m, q);
    if (now_ms >= m->second_ms) {
        m->second_ms = now_ms + 1000;
        second(m);
        task_nodes_tick(m);
        parts_tick(m);
        demand_second(m);
        each_active(m, q)
            queue_idle(m, q);
    }
    m->tick_due_ms = now_ms + m->opts.tick_ms;
    mng_end(m);
}
