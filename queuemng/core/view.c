/* view.c: fills the views. */
#include "queuemng/core/view.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "queuemng/chain/move.h"
#include "queuemng/chain/move_state.h"
#include "queuemng/core/segment_nodes.h"
#include "queuemng/release/eta.h"
#include "queuemng/release/pop.h"
#include "queuemng/release/shadow.h"
#include "queuemng/state/node.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/pools.h"

/* By slots it has no effect. */
static double queue_boost(const struct mqueue *q)
{
    return q->def.mode == MODE_SLOTS ? 1 : no_show_boost(&q->no_show, q->def.no_show_boost);
}

static void shadow_view(const struct mng *m, const struct mqueue *q, struct mng_queue_view *v)
{
    const struct shadow_play *s = q->shadow;

    v->has_shadow = true;
    v->shadow = (struct mng_shadow_view){ .waiting = shadow_waiting(&s->line),
                                          .joined = s->line.came,
                                          .would_wait = s->line.would_wait,
                                          .wait_ms = shadow_wait_ms(&s->line, m->now_ms),
                                          .longest_ms = s->line.longest_ms,
                                          .allowed_per_s = s->rel.rate_per_s };
    memcpy(v->shadow.limited_by, s->rel.limited_by, sizeof(v->shadow.limited_by));
}

void mng_each_queue(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_queue(m, q) {
        struct mng_queue_view v = { .id = q->id,
                                    .def = &q->def,
                                    .public_state = queue_public_state(q),
                                    .version = q->version,
                                    .allowed_per_s = q->allowed_per_s,
                                    .inside = slots_inside(m, q),
                                    .inside_flushed = slots_flushed(m, q),
                                    .opens_ms = sched_holds(q) ? q->sched.opens_ms : 0,
                                    .closed_ms = q->sched.phase == SCHED_OVER ? q->sched.closes_ms : 0,
                                    .granted = q->rel.granted,
                                    .flood = &q->flood,
                                    .suspects = q->suspects,
                                    .push_none = pools_push_none(m, &q->def.turn),
                                    .claim_rate = no_show_share_come(&q->no_show),
                                    .boost = queue_boost(q) };
        const struct release *rel = &q->rel;
        struct release copy;

        if (q->deleted_until_ms != 0)
            continue;
        if (q->shadow != NULL)
            shadow_view(m, q, &v);
        if (v.inside_flushed != 0)
            v.flushed_until_ms = q->flushed.until_ms;
        if (!q->active) {
            v.allowed_per_s = pops_peek(m, q, &copy);
            rel = &copy;
        }
        memcpy(v.limited_by, rel->limited_by, sizeof(v.limited_by));
        fn(ctx, &v);
    }
}

/* Smoothed, but never more than may go in now, unless the last second saw it: a rate that was
 * lowered, or is 0, shows at once. */
static double shown_rate(const struct mlane *l)
{
    return fmin(l->release_per_s, fmax((double)l->let_in, l->recovering ? 0 : l->q->allowed_per_s));
}

static void lane_view(const struct mlane *l, mng_each_fn fn, void *ctx)
{
    struct mng_lane_view v = { .queue = l->q->id,
                               .queue_name = l->q->def.name,
                               .lane = def_lane_name(&l->q->def, l->no),
                               .lane_no = l->no,
                               .waiting = l->waiting,
                               .returning = l->returning,
                               .ready = l->ready,
                               .active = l->active,
                               .released = l->released,
                               .joined = l->joined + l->gone_joined,
                               .left = l->left + l->gone_left,
                               .expired = l->expired + l->gone_expired,
                               .no_shows = l->no_shows + l->gone_no_shows,
                               .rate_per_s = shown_rate(l),
                               .eta_per_s = eta_told_rate(&l->eta),
                               .n_segs = l->segs.n,
                               .n_away = l->n_away,
                               .missing = l->missing,
                               .n_aliases = l->n_alias };

    v.eta_last_s = lane_eta_last(l, &v.eta_reason);
    fn(ctx, &v);
}

static void lanes_view(const struct mqueue *q, mng_each_fn fn, void *ctx)
{
    for (unsigned i = 0; i < q->n_lanes; i++)
        lane_view(&q->lane[i], fn, ctx);
}

void mng_each_lane(const struct mng *m, queue_id q, mng_each_fn fn, void *ctx)
{
    const struct mqueue *one = q != 0 ? queue_by_id(m, q) : NULL;

    if (one != NULL)
        lanes_view(one, fn, ctx);
    if (q != 0)
        return;
    each_queue(m, x) {
        if (x->deleted_until_ms == 0)
            lanes_view(x, fn, ctx);
    }
}

static void sum_lane(void *ctx, const void *view)
{
    const struct mng_lane_view *l = view;
    struct mng_lane_view *s = ctx;

    s->waiting += l->waiting;
    s->returning += l->returning;
    s->ready += l->ready;
    s->active += l->active;
    s->released += l->released;
    s->joined += l->joined;
    s->left += l->left;
    s->expired += l->expired;
    s->no_shows += l->no_shows;
    s->rate_per_s += l->rate_per_s;
    s->n_segs += l->n_segs;
    s->n_away += l->n_away;
    s->missing += l->missing;
    s->n_aliases += l->n_aliases;
    if (s->eta_last_s >= 0 && (l->eta_last_s < 0 || l->eta_last_s > s->eta_last_s)) {
        s->eta_last_s = l->eta_last_s;
        s->eta_reason = l->eta_reason;
    }
}

struct mng_lane_view mng_queue_sum(const struct mng *m, queue_id q)
{
    struct mng_lane_view sum = { .queue = q };

    assert(q != 0); /* 0 would be the lanes of all queues */
    mng_each_lane(m, q, sum_lane, &sum);
    return sum;
}

void mng_each_seg(const struct mng *m, queue_id q, unsigned lane, mng_each_fn fn, void *ctx)
{
    const struct mqueue *x = queue_by_id(m, q);

    if (x == NULL || lane >= LANES_MAX)
        return;
    each_seg(&x->lane[lane], s) {
        struct mng_seg_view v = { .id = s->id,
                                  .node = s->node->name,
                                  .state = s->state,
                                  .capacity = s->capacity,
                                  .st = s->st,
                                  .ahead = s->ahead,
                                  .reachable = seg_reachable(s),
                                  .lost = seg_is_lost(s),
                                  .rebuild = seg_is_rebuilding(s),
                                  .move = s->move != NULL ? s->move->id : 0 };

        fn(ctx, &v);
    }
}

void mng_each_node(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_node(m, n) {
        struct mng_node_view v = { .no = n->no,
                                    .name = n->name,
                                    .addr = n->addr,
                                    .admin = n->admin,
                                    .region = n->where.region,
                                    .zone = n->where.zone,
                                    .incarnation = n->incarnation,
                                    .up = n->registered,
                                    .draining = n->draining,
                                    .retired = n->retired,
                                    .forget_in_ms = node_forget_in_ms(m, n),
                                    .silent_ms = n->peer != 0 ? 0 : m->now_ms - n->down_ms,
                                    .tickets = n->tickets,
                                    .max_tickets = n->max_tickets,
                                    .segments = (uint32_t)n->segs.n,
                                    .max_segments = n->max_segments };
        if (n->draining)
            moves_drain_state(m, n, &v.drain);
        fn(ctx, &v);
    }
}

void mng_each_router(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_router(m, r) {
        struct mng_router_view v = { .name = r->name,
                                     .http = r->http,
                                     .admin = r->admin,
                                     .region = r->where.region,
                                     .zone = r->where.zone,
                                     .incarnation = r->incarnation,
                                     .map_version = r->sent_version };

        fn(ctx, &v);
    }
}

void mng_each_suspect(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_router(m, r) {
        for (uint32_t i = 0; i < r->n_suspects; i++) {
            const struct mqueue *q = queue_by_id(m, r->suspects[i].queue);

            if (q != NULL)
                fn(ctx, &(const struct mng_suspect_view){ q->def.name, &r->suspects[i] });
        }
    }
}

void mng_each_move(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_move(m, x) {
        struct mng_move_view v = { .id = x->id,
                                   .from = x->from_id,
                                   .to = x->to_id,
                                   .state = move_state_name(x->state),
                                   .tickets = x->tickets };

        fn(ctx, &v);
    }
}

void mng_each_metric(const struct mng *m, msec_t now_ms, mng_each_fn fn, void *ctx)
{
    for (unsigned i = 0; i < m->n_metrics; i++) {
        const struct metric *x = &m->metric[i];
        struct mng_metric_view v = { .name = x->name,
                                     .ok = metric_usable(x, now_ms),
                                     .value = x->value,
                                     .age_ms = x->taken_ms > 0 ? now_ms - x->taken_ms : -1 };

        v.why = v.ok ? "" : x->why[0] != '\0' ? x->why : "stale";
        fn(ctx, &v);
    }
}

const struct eta_errors *mng_eta_errors(const struct mng *m)
{
    return &m->eta_errors;
}

void mng_count(const struct mng *m, struct mng_counts *c)
{
    *c = m->count;
    c->epoch = m->epoch;
    c->map_version = m->map_version;
    c->queues = m->queues.n - m->n_deleted;
    c->segments = m->seg_by_id.n;
    c->nodes_up = c->nodes_foreign = c->routers_up = 0;
    each_node(m, n) {
        c->nodes_up += n->registered;
        c->nodes_foreign += n->foreign;
    }
    each_router(m, r)
        c->routers_up += r->registered;
}

bool mng_place(const struct mng *m, seg_id seg, struct mng_place_view *v)
{
    const struct mseg *s = seg_resolve(m, seg);

    if (s == NULL)
        return false;
    *v = (struct mng_place_view){ .queue = s->lane->q->def.name,
                                  .lane = def_lane_name(&s->lane->q->def, s->lane->no),
                                  .node = s->node->name,
                                  .segment = s->id,
                                  .reachable = seg_reachable(s),
                                  .rebuild = seg_is_rebuilding(s),
                                  .moving = s->move != NULL,
                                  .prequeue = queue_map_phase(s->lane->q).phase == PHASE_PREQUEUE };
    return true;
}

uint64_t mng_queue_waiting(const struct mng *m, const char *queue)
{
    const struct mqueue *q = queue_find(m, queue);
    struct mng_lane_view sum = { 0 };

    if (q != NULL)
        sum = mng_queue_sum(m, q->id);
    return sum.waiting + sum.returning;
}
