/* eta.c: feeds policy/eta_lane.h; plans the polling intervals. */
#include "queuemng/release/eta.h"

#include <assert.h>

#include "queuemng/release/budgets.h"
#include "queuemng/release/pop.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/state.h"

static uint64_t gone_of(const struct mlane *l)
{
    return l->left + l->gone_left + l->expired + l->gone_expired;
}

static bool has_waiters(const struct mlane *l)
{
    return l->waiting + l->returning != 0;
}

static double weight_of(const struct mlane *l)
{
    const struct def_lane *d = l->q->def.lanes.v;

    return l->q->def.lanes.n != 0 ? (double)d[l->no].weight : 1;
}

/* The lane's share of what its queue lets in. 0: what those before it leave over is only known by
 * measuring. */
static double share_of(const struct mlane *l)
{
    const struct mqueue *q = l->q;
    double sum = 0;

    for (unsigned i = 0; i < q->n_lanes; i++) {
        const struct mlane *x = &q->lane[i];

        if (!has_waiters(x) && x != l)
            continue;
        if (q->def.sharing == SHARE_STRICT && x != l && i < l->no)
            return 0;
        sum += q->def.sharing == SHARE_STRICT && x != l ? 0 : weight_of(x);
    }
    assert(sum > 0);
    return weight_of(l) / sum;
}

static bool goes_by_slots(const struct mqueue *q)
{
    return q->def.mode == MODE_SLOTS || q->rel.by_slots;
}

/* The lane's share of the rate that the limits allow. 0: that says nothing about this lane. */
static double allowed_of(const struct mlane *l)
{
    const struct mqueue *q = l->q;

    if (goes_by_slots(q))
        return 0;
    return q->allowed_per_s * no_show_boost(&q->no_show, q->def.no_show_boost) * share_of(l);
}

/* Entries a second in the long run if all of its places are taken, and everybody stays for as long as a
 * session may last: with slots full and nobody leaving there is nothing to measure. Places of
 * a budget count by the queue's part: who is inside beyond it is followed by people of another queue. */
static double longest_stays(const struct mng *m, const struct mlane *l)
{
    const struct mqueue *q = l->q;
    uint64_t places = u64_min((uint64_t)q->def.max_active, budget_slots(m, q));

    if (!goes_by_slots(q) || !has_waiters(l))
        return 0;
    return (double)places * 1000 / (double)queue_session_ms(&q->def) * share_of(l);
}

/* Sums jump while a new manager hears of its nodes: what falls or begins is nothing new. */
static uint64_t growth(uint64_t *before, uint64_t now)
{
    uint64_t n = now > *before ? now - *before : 0;

    *before = now;
    return n;
}

#define HELD_S 3 /* seconds without anybody: a rebuild lets people in by fits and starts */

/* A rebuild lets in whose turn it surely is, and then nobody until it ends; nodes that are away let in nobody.
 * It is looked anew: with slots full nobody has, perhaps since before the rebuild ended. */
static void hold(const struct mng *m, struct mlane *l, struct eta_in *in)
{
    in->held = in->waiting != 0 && pop_is_held(m, l);
    l->held_s = in->held && in->released == 0 ? l->held_s + 1 : 0;
    in->stopped |= l->held_s >= HELD_S;
}

static void probe(struct mlane *l, msec_t now_ms)
{
    const struct mseg *last = NULL;

    each_seg(l, s)
        if (s->st.joined > 0)
            last = s;
    if (last != NULL && l->waiting > 0)
        eta_probe(&l->eta, now_ms, last->id, last->st.joined - 1, l->waiting);
}

void lane_eta(const struct mng *m, struct mlane *l)
{
    const struct mqueue *q = l->q;
    bool first = l->eta.last_ms == 0;
    struct eta_in in = { .now_ms = m->now_ms,
                         .waiting = l->waiting,
                         .released = growth(&l->eta_released, l->released),
                         .gone = growth(&l->eta_gone, gone_of(l)),
                         .allowed = allowed_of(l),
                         .by_stay = longest_stays(m, l),
                         .paused = q->def.state == DEF_PAUSED,
                         .told_for_ms = poll_max_longest(q) };

    in.stopped = !in.paused && (q->def.state == DEF_REJECT ||
                                (q->def.mode != MODE_SLOTS && q->allowed_per_s <= 0));
    if (first)
        in.gone = in.released = 0;
    hold(m, l, &in);
    eta_second(&l->eta, &in);
    probe(l, m->now_ms);
}

/* Returns what a router tells the last one: the place is the number of those who wait. */
double lane_eta_last(const struct mlane *l, const char **reason)
{
    double s;

    *reason = NULL;
    if (!has_waiters(l))
        return 0;
    if (sched_holds(l->q) && l->q->def.state != DEF_PASSTHROUGH) {
        *reason = "not_open";
        return -1;
    }
    s = eta_seconds(eta_told_rate(&l->eta), l->eta.told_leave, u64_max(l->waiting, 1));
    *reason = eta_reason_name(l->eta.reason);
    if (s < 0 && *reason == NULL)
        *reason = "measuring";
    return s;
}

/* ---- polling intervals ----------------------------------------------------------- */

static bool pace_differs(const struct pace *a, const struct pace *b)
{
    uint32_t d = a->us_per_place > b->us_per_place ? a->us_per_place - b->us_per_place
                                                   : b->us_per_place - a->us_per_place;

    return a->min_ms != b->min_ms || a->max_ms != b->max_ms ||
           (uint64_t)d * 20 > b->us_per_place;
}

static uint64_t coming(const struct mlane *l)
{
    return l->waiting + (uint64_t)(2 * l->join_per_s);
}

static uint32_t longest_at(const struct pace *p, uint64_t position)
{
    uint32_t ms = pace_interval_ms(p, position);
    struct pace at = { ms, ms, 0 };

    return pace_longest_ms(&at);
}

/* A later manager has to know it, too: as a power of two, so that it is seldom stored. */
static void told_store(struct mng *m, struct mlane *l)
{
    uint64_t left = (uint64_t)(l->told_ms - m->now_ms), rounded = 1;

    if (left <= l->stored_told_ms && left * 4 >= l->stored_told_ms)
        return;
    while (rounded < left)
        rounded *= 2;
    if (left <= poll_max_longest(l->q))
        rounded = 0; /* a later manager assumes it */
    if (rounded == l->stored_told_ms)
        return;
    l->stored_told_ms = rounded;
    queue_chain_changed(m, l->q);
}

/* A rebuild has to wait for whoever was told the longest interval: by a node that does not
 * hear us perhaps one of an older pace. */
static void lane_told(struct mng *m, struct mlane *l, const struct pace *p)
{
    uint64_t last = coming(l) + (uint64_t)l->q->def.segment_capacity;
    uint32_t ms = longest_at(&l->pace, last), next = longest_at(p, last);

    ms = ms > next ? ms : next;
    l->most_ms = m->unreachable && l->most_ms > ms ? l->most_ms : ms;
    if (l->told_ms < m->now_ms + l->most_ms)
        l->told_ms = m->now_ms + l->most_ms;
    told_store(m, l);
}

/* Places from which it takes as long as people are told soon (turn_notice) at most. The figures of `eta` move
 * in steps, and so does this. */
static uint64_t soon_places(const struct mlane *l)
{
    int64_t ms = l->q->def.turn.soon_ms;

    return ms != 0 ? eta_within(eta_told_rate(&l->eta), l->eta.told_leave, (double)ms / 1000) : 0;
}

/* Lanes share the queue's budget as they share its waiters. The plan is for the second to
 * come and its figures are up to one old, so it counts those who join in two: the first
 * ones of a rush would be told the intervals of an empty queue else. */
void lane_pace(struct mng *m, struct mlane *l)
{
    const struct queue_def *d = &l->q->def;
    uint64_t all = 0;
    uint64_t soon = soon_places(l);
    uint32_t budget;
    double share;
    struct pace p;

    for (unsigned i = 0; i < l->q->n_lanes; i++)
        all += coming(&l->q->lane[i]);
    share = all != 0 ? (double)coming(l) / (double)all : 1.0;
    /* Never nothing: whoever joins an empty lane beside a full one would be told for ever. */
    budget = (uint32_t)((double)d->poll_budget_per_s * share + 0.5);
    p = pace_plan(coming(l), l->release_per_s, budget > 0 ? budget : 1,
                  (uint32_t)d->poll_min_ms, (uint32_t)d->poll_max_ms);
    assert(p.min_ms <= p.max_ms);
    lane_told(m, l, &p);
    if (!pace_differs(&p, &l->pace) && soon == l->soon)
        return;
    l->pace = p;
    l->soon = soon;
    each_node(m, n)
        if (n->registered)
            batch_lane_pace(m, l, n);
}
