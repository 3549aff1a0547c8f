/* eta.c: feeds policy/eta_lane.h. */
#include "queuemng/release/eta.h"

#include <assert.h>

#include "queuemng/budgets/parts.h"
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
