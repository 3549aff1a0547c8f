/* credit.c: who gets credit, and how much. */
#include "queuemng/release/credit.h"

#include <assert.h>

#include "queuemng/policy/release.h"
#include "queuemng/release/budgets.h"
#include "queuemng/state/marks.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define CREDIT_WARM_MS  10000
#define CREDIT_LEASE_MS 300  /* on the node's clock, from the order's arrival on */
#define CREDIT_AGE_MS   1000 /* then its passes would begin too long ago: new numbers */
#define CREDIT_MAX      4096 /* numbers at a time */
#define CREDIT_LEAST    16
#define ENTRY_S 0.2 /* part of the 0.3 s that a router holds a join for (FLOW_HOLD_MS) */

static bool may_enter(const struct mqueue *q)
{
    return q->def.direct_entry && q->def.state == DEF_OPEN && q->deleted_until_ms == 0 &&
           !sched_holds(q) && (q->def.mode == MODE_SLOTS || q->rel.rate_per_s > 0);
}

/* Certainly nobody is in it, or comes back to it, whom a join of the tail could overtake. */
static bool is_empty(const struct mlane *l)
{
    return l->waiting + l->returning == 0 && !l->pop.busy && l->manual == 0 && l->n_away == 0 &&
           !l->has_missing_source;
}

static bool takes_credit(const struct mng *m, const struct mseg *s)
{
    return seg_is_reported(s) && seg_reachable(s) && !seg_is_uncertain(s) && s->move == NULL &&
           s->kind == OPEN_TAIL && s->state == SEG_OPEN && s->st.state == SEG_OPEN &&
           s->st.move == 0 && !s->want_seal && !s->pre.early &&
           !node_is_closed(s->node) && m->now_ms - s->node->heard_ms <= MNG_SILENT_MS;
}

/* While somebody waits, in whichever lane, no capacity is free. */
bool credit_is_due(const struct mqueue *q)
{
    for (unsigned i = 0; i < q->n_lanes; i++)
        if (!is_empty(&q->lane[i]))
            return false;
    return true;
}

/* The first segment that is not dry is the one that joins come to. NULL: no credit. */
static struct mseg *tail_of(const struct mng *m, const struct mlane *l)
{
    if (!m->started || !may_enter(l->q) || l->no >= l->q->n_lanes || !credit_is_due(l->q) ||
        l->came_ms == 0 || m->now_ms - l->came_ms > CREDIT_WARM_MS)
        return NULL;
    each_seg(l, s)
        if (!seg_dry(s))
            return takes_credit(m, s) ? s : NULL;
    return NULL;
}

static bool is_under_way(const struct mseg *s)
{
    return s->credit.tick != s->st.credit_tick;
}

static bool is_old(const struct mng *m, const struct mseg *s)
{
    return s->st.credit_at == s->st.credit_end || m->now_ms - s->credit.since_ms >= CREDIT_AGE_MS;
}

/* Marks the numbers set aside: those below were granted. */
static uint32_t first_free(const struct mseg *s)
{
    return s->credit.end > s->st.credit_at ? s->credit.end : s->st.credit_at;
}

static uint64_t given(const struct mqueue *q)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < q->n_lanes; i++)
        each_seg(&q->lane[i], s)
            n += s->credit.open;
    return n;
}

/* By rate all lanes together have at most what a tick earns, and one: with a tick that comes
 * late, what is carried and a pop of before that is what I7 allows. */
static uint64_t most(const struct mng *m, const struct mqueue *q, uint64_t n)
{
    uint64_t all = 1 + (uint64_t)one_tick(m, q);

    return all > n ? all - n : 0;
}

uint64_t credit_spare(const struct mng *m, const struct mqueue *q)
{
    for (unsigned i = 0; i < q->n_lanes; i++)
        if (credit_is_warm(m, &q->lane[i]))
            return most(m, q, given(q));
    return 0;
}

/* Returns what is used in two ticks, and a bit. */
static uint64_t target(const struct mng *m, const struct mseg *s)
{
    const struct mlane *l = s->lane;
    uint64_t came = u64_max(l->came, (uint64_t)l->came_peak);
    uint64_t n = u64_min(CREDIT_LEAST + 2 * came, CREDIT_MAX);

    if (l->q->def.mode == MODE_SLOTS)
        return n;
    return u64_min(n, most(m, l->q, given(l->q) - (is_old(m, s) ? 0 : s->credit.open)));
}

/* Samples each tick, however often it is asked. */
static void take_sample(const struct mng *m, struct mlane *l)
{
    if (m->now_ms - l->sampled_ms < m->opts.tick_ms)
        return;
    l->sampled_ms = m->now_ms;
    l->came_peak = l->came > l->came_peak * 0.9 ? (double)l->came : l->came_peak * 0.9;
    l->came = 0;
}

uint64_t credit_wish(struct mng *m, struct mlane *l)
{
    const struct mseg *s = tail_of(m, l);
    uint64_t want, have;

    take_sample(m, l);
    if (s == NULL || is_under_way(s) || s->st.aside_end <= first_free(s))
        return 0;
    want = target(m, s);
    have = is_old(m, s) ? 0 : s->credit.open;
    return have < want ? u64_min(want - have, s->st.aside_end - first_free(s)) : 0;
}

/* ---- orders ----------------------------------------------------------------------- */

static void order(struct mng *m, struct mseg *s, uint32_t from, uint32_t end, uint32_t aside)
{
    struct msg_seg_credit *o = &mng_to(m, s->node->peer, MSG_SEG_CREDIT)->seg_credit;

    assert(from <= end);
    s->credit.tick = m->epoch << 32 | ++m->pop_counter;
    s->credit.ended = false;
    s->credit.sent_ms = m->now_ms;
    o->epoch = m->epoch;
    o->seg = s->id;
    o->tick = s->credit.tick;
    o->from = from;
    o->end = end;
    o->lease_ms = CREDIT_LEASE_MS;
    o->released_at_ms = s->credit.at_ms;
    o->aside = aside;
}

void credit_give(struct mng *m, struct mlane *l, uint64_t n)
{
    struct mseg *s = tail_of(m, l);
    struct mcredit *c;
    struct mark_row r;

    if (n == 0)
        return;
    assert(s != NULL && !is_under_way(s));
    c = &s->credit;
    r = (struct mark_row){ .seg = s->id, .from = first_free(s) };
    assert(n <= s->st.aside_end - r.from);
    r.end = r.from + (uint32_t)n;
    if (is_old(m, s)) {
        c->was_at = c->at;
        c->was_end = c->end;
        c->from = c->at = r.from;
        c->at_ms = m->wall_ms;
        c->since_ms = m->now_ms;
    }
    r.at_ms = c->at_ms;
    if (!marks_grant(m, l, &r)) {
        release_refund(&l->q->rel, n, one_tick(m, l->q));
        return;
    }
    c->end = r.end;
    c->open += n;
    m->count.credits += n;
    order(m, s, c->from, c->end, (uint32_t)target(m, s));
}

/* Recalls it: what is left of it comes back with the answer. Another order may be
 * under way: this one is obeyed after it. */
static void call_back(struct mng *m, struct mseg *s)
{
    bool late = m->now_ms - s->credit.sent_ms >= MNG_AGAIN_MS;

    if (s->credit.open == 0 || !seg_reachable(s) || (s->credit.ended && !late))
        return;
    order(m, s, 0, 0, may_enter(s->lane->q) ? (uint32_t)target(m, s) : 0);
    s->credit.ended = true;
}

/* More than could be given now: the rate fell, or max_active was lowered. */
static bool is_too_much(const struct mng *m, const struct mseg *s)
{
    const struct mqueue *q = s->lane->q;

    if (q->def.mode != MODE_SLOTS && s->credit.open > (uint64_t)(2 + 2 * one_tick(m, q)))
        return true;
    return q->def.mode != MODE_RATE &&
           (slots_inside(m, q) > (uint64_t)q->def.max_active || budget_is_exceeded(m, q));
}

void credit_recall(struct mng *m, struct mqueue *q)
{
    for (unsigned i = 0; i < q->n_lanes; i++)
        each_seg(&q->lane[i], s)
            if (!may_enter(q) || is_too_much(m, s))
                call_back(m, s);
}

static void go_on(struct mng *m, struct mseg *s)
{
    const struct mcredit *c = &s->credit;
    uint32_t aside = (uint32_t)target(m, s);
    bool in_use = s->st.credit_at < s->st.credit_end;
    bool needs = s->st.aside_end < first_free(s) + aside;

    if (is_under_way(s)) {
        if (m->now_ms - c->sent_ms >= MNG_AGAIN_MS)
            call_back(m, s);
    } else if (in_use && m->now_ms - c->since_ms >= 2 * CREDIT_AGE_MS) {
        call_back(m, s); /* no new one could be given instead */
    } else if ((in_use || needs || c->open > 0) &&
               (m->now_ms - c->sent_ms >= CREDIT_LEASE_MS / 2 || c->sent_ms == 0)) {
        order(m, s, in_use ? c->from : 0, in_use ? c->end : 0, aside);
    }
}

void credit_keep(struct mng *m, struct mlane *l)
{
    struct mseg *tail = tail_of(m, l);

    each_seg(l, s) {
        if (s == tail && !is_too_much(m, s))
            go_on(m, s);
        else
            call_back(m, s);
    }
}

bool credit_is_warm(const struct mng *m, const struct mlane *l)
{
    if (may_enter(l->q) && l->came_ms != 0 && m->now_ms - l->came_ms <= CREDIT_WARM_MS)
        return true;
    each_seg(l, s)
        if (s->credit.open != 0)
            return true;
    return false;
}

/* ---- direct entry ---------------------------------------------------------------- */

uint64_t queue_lets_in(const struct mng *m, const struct mqueue *q)
{
    return u64_min(slots_free(m, q), budget_lets_in(m, q));
}

/* The free slots; the credit that the rate has left over, and earns while a join is held. */
uint64_t direct_entry_reach(const struct mng *m, const struct mqueue *q)
{
    double earned = q->rel.carry + q->allowed_per_s * ENTRY_S;
    uint64_t by_rate = q->allowed_per_s > 0 && earned > 0 ? (uint64_t)earned : 0;

    if (!q->def.direct_entry)
        return 0;
    if (q->def.mode == MODE_RATE || queue_is_free(q))
        return by_rate;
    if (q->def.state == DEF_PAUSED || q->def.state == DEF_REJECT || sched_holds(q))
        return 0;
    return q->def.mode == MODE_SLOTS ? queue_lets_in(m, q) : u64_min(queue_lets_in(m, q), by_rate);
}
