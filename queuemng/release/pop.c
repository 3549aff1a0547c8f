/* pop.c: gives releases to the heads of the lanes. */
#include "queuemng/release/pop.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/release/budgets.h"
#include "queuemng/release/credit.h"
#include "queuemng/release/shadow.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "release"
#define TIER_NOTES_MAX 10 /* lines in a second */

/* The time for which an unreachable segment is waited for. People whose places are not drawn yet
 * all stand before those behind them: they are waited for until they could have been brought
 * back. */
static msec_t patience_ms(const struct mng *m, const struct mseg *s)
{
    return m->opts.skip_after_ms + (seg_is_undrawn(s) ? m->opts.lost_after_ms : 0);
}

/* Past what cannot be reached for long, past what is dry; NULL: nobody to release. */
static struct mseg *pop_head(const struct mng *m, struct mlane *l, bool *wait)
{
    struct mseg *first_open = NULL;

    *wait = l->recovering = l->past_away = false;
    each_seg(l, s) {
        if (seg_dry(s) || (!seg_is_announced(s) && s->kind != OPEN_REBUILD))
            continue;
        l->past_away |= !seg_reachable(s);
        if (seg_is_lost(s) && m->now_ms - s->lost_ms > patience_ms(m, s))
            continue; /* no node has room for it */
        l->recovering = seg_is_recovering(s);
        if (l->recovering && (seg_is_lost(s) || !seg_is_announced(s))) {
            *wait = true;
            return NULL;
        }
        if (!seg_reachable(s)) {
            if (s->node->peer == 0 && m->now_ms - s->node->down_ms > patience_ms(m, s))
                continue;
            *wait = true;
            return NULL;
        }
        if (seg_is_undrawn(s)) {
            *wait = true; /* whose turn it is, is not known yet */
            return NULL;
        }
        if (seg_is_rebuilding(s) || s->st.waiting + s->st.returning != 0)
            return first_open != NULL ? first_open : s;
        /* open and empty when it last reported: somebody may have joined since, and if
         * there are people behind it, it must be asked first */
        if (first_open == NULL)
            first_open = s;
    }
    return NULL;
}

bool pop_is_held(const struct mng *m, struct mlane *l)
{
    bool wait;
    const struct mseg *s = pop_head(m, l, &wait);

    return l->recovering || (s == NULL && l->past_away);
}

static void pop_send(struct mng *m, struct mlane *l, const struct mseg *s)
{
    struct msg_seg_pop *p = &mng_to(m, s->node->peer, MSG_SEG_POP)->seg_pop;

    assert(l->pop.busy && l->pop.n > 0 && l->pop.seg == s->id);
    p->epoch = m->epoch;
    p->seg = s->id;
    p->tick = l->pop.tick;
    p->n = l->pop.n;
    p->released_at_ms = l->pop.wall_ms;
    p->away_ms = quiet_away_ms(&l->q->quiet, m->now_ms, pop_quiet_ms(l->q),
                               l->q->def.away_ms);
    l->pop.sent_ms = m->now_ms;
    m->count.pops_sent++;
}

/* Gives pop.left from wherever the head is now. */
static void pop_go(struct mng *m, struct mlane *l)
{
    bool wait;
    struct mseg *s = pop_head(m, l, &wait);
    uint64_t n = l->pop.left;

    if (s == NULL || n == 0) {
        pop_end(m, l, n, wait);
        return;
    }
    assert(!l->pop.busy && s->lane == l);
    l->pop.busy = true;
    l->pop.seg = s->id;
    l->pop.tick = m->epoch << 32 | ++m->pop_counter;
    l->pop.n = (uint32_t)u64_min(n, UINT32_MAX);
    l->pop.since_ms = m->now_ms;
    l->pop.wall_ms = m->wall_ms;
    pop_send(m, l, s);
}

/* The answer is late: ask again with the same tick, or give the release up for good (it
 * may have happened: it stays counted as given). */
static void pop_late(struct mng *m, struct mlane *l)
{
    struct mseg *s = seg_find(m, l->pop.seg);

    if (s == NULL || (s->node->peer == 0 &&
                      m->now_ms - s->node->down_ms > m->opts.skip_after_ms)) {
        log_warn("event=pop_skipped seg=%llu n=%u", (unsigned long long)l->pop.seg,
                 l->pop.n);
        m->count.pops_skipped++;
        if (s != NULL)
            s->unconfirmed += l->pop.n;
        pop_end(m, l, 0, false);
    } else if (seg_reachable(s) && m->now_ms - l->pop.sent_ms >= MNG_AGAIN_MS) {
        pop_send(m, l, s);
    }
}

/* Earned while a release is on its way, it is for the next one: over an ocean that is some ticks. */
static double on_the_way(const struct mng *m, const struct mlane *l)
{
    const struct mseg *s = seg_find(m, l->pop.seg);
    msec_t way = s != NULL ? node_way_ms(s->node) : 0;

    return one_tick(m, l->q) * (double)ms_max(1, (way + m->opts.tick_ms - 1) / m->opts.tick_ms);
}

static void lane_release(struct mng *m, struct mlane *l, uint64_t by_rate)
{
    if (l->pop.busy) {
        pop_late(m, l);
        release_refund(&l->q->rel, by_rate, on_the_way(m, l));
        return;
    }
    if (l->manual > l->waiting + l->returning)
        l->manual = l->waiting + l->returning; /* by hand does not save up either */
    l->pop.left = by_rate + l->manual;
    l->pop.by_hand = l->manual;
    if (l->pop.left == 0)
        return;
    l->manual = 0;
    pop_go(m, l);
}

struct pop_in { /* question to the controller, and what it points to */
    struct release_in in;
    const struct metric *metrics[16];
    int64_t weights[LANES_MAX];
    char budget[NAME_MAX_LEN + 8]; /* the name is that much shorter */
};

static void pop_ask(const struct mng *m, const struct mqueue *q, struct pop_in *p)
{
    const struct def_limit *limit = q->def.limits.v;
    const struct def_lane *lane = q->def.lanes.v;

    double most = budget_rate(m, q);
    uint64_t free_slots = slots_free(m, q), by_budget = budget_lets_in(m, q);

    memset(p, 0, sizeof(*p));
    snprintf(p->budget, sizeof(p->budget), "budget:%s", q->def.budget.name);
    p->in = (struct release_in){ .now_ms = m->now_ms,
                                 .tick_ms = m->opts.tick_ms,
                                 .def = &q->def,
                                 .metrics = p->metrics,
                                 .weights = p->weights,
                                 .slots = u64_min(free_slots, by_budget),
                                 .budget = by_budget < free_slots ? p->budget : NULL,
                                 .rate_budget = most >= 0 ? p->budget : NULL,
                                 .rate_most = most,
                                 .flushed = slots_flushed(m, q) != 0,
                                 .keep = credit_spare(m, q),
                                 .boost = no_show_boost(&q->no_show, q->def.no_show_boost),
                                 .not_open = sched_holds(q),
                                 .free = queue_is_free(q),
                                 .n_lanes = q->n_lanes };
    for (size_t i = 0; i < q->def.limits.n && i < ARRAY_LEN(p->metrics); i++)
        p->metrics[i] = metric_find(m->metric, m->n_metrics, limit[i].metric);
    for (unsigned i = 0; i < q->n_lanes; i++) {
        p->weights[i] = q->def.lanes.n != 0 ? lane[i].weight : 1;
        p->in.waiting[i] = q->lane[i].waiting + q->lane[i].returning;
    }
}

/* Shared as the controller does it, among those who are not promised one by hand already. */
void pops_by_hand(const struct mng *m, struct mqueue *q, uint64_t n)
{
    uint64_t share[LANES_MAX];
    struct pop_in p;

    pop_ask(m, q, &p);
    for (unsigned i = 0; i < q->n_lanes; i++)
        p.in.waiting[i] -= u64_min(p.in.waiting[i], q->lane[i].manual);
    release_share(&q->rel, &p.in, n, share);
    for (unsigned i = 0; i < q->n_lanes; i++)
        q->lane[i].manual += share[i];
}

void pops_look(const struct mng *m, struct mqueue *q, msec_t now_ms)
{
    struct pop_in p;

    pop_ask(m, q, &p);
    p.in.now_ms = now_ms;
    release_look(&q->rel, &p.in);
}

double pops_peek(const struct mng *m, const struct mqueue *q, struct release *copy)
{
    struct release_out out = { 0 };
    struct pop_in p;

    *copy = q->rel;
    pop_ask(m, q, &p);
    release_tick(copy, &p.in, &out);
    return out.allowed_per_s;
}

/* Logs a line when a limit steps to another tier, or to the fallback: not for each of thousands
 * of queues that go by the same metric. */
static void note_tiers(struct mng *m, const struct mqueue *q, const struct release *was)
{
    const struct release *now = &q->rel;

    if (was->last_ms == 0 || m->tier_notes >= TIER_NOTES_MAX ||
        (was->fallback == now->fallback &&
         memcmp(was->tier, now->tier, sizeof(was->tier)) == 0))
        return;
    m->tier_notes++;
    log_info("event=rate_limit_changed queue=%s by=%s allowed_per_s=%g was_by=%s was_per_s=%g",
             q->def.name, now->limited_by, q->allowed_per_s, was->limited_by,
             was->rate_per_s);
}

void pops_tick(struct mng *m, struct mqueue *q)
{
    struct release_out out = { 0 };
    struct release was = q->rel;
    uint64_t wish[LANES_MAX];
    struct pop_in p;

    pop_ask(m, q, &p);
    for (unsigned i = 0; i < q->n_lanes; i++)
        p.in.waiting[i] += wish[i] = credit_wish(m, &q->lane[i]);
    release_tick(&q->rel, &p.in, &out);
    q->allowed_per_s = out.allowed_per_s;
    note_tiers(m, q, &was);
    if (q->def.mode == MODE_SLOTS && !queue_is_free(q)) { /* no rate says it: what has come of it */
        q->allowed_per_s = 0;
        for (unsigned i = 0; i < q->n_lanes; i++)
            q->allowed_per_s += q->lane[i].release_per_s;
    }
    for (unsigned i = 0; i < q->n_lanes; i++) {
        if (wish[i] > 0)
            credit_give(m, &q->lane[i], out.n[i]);
        else
            lane_release(m, &q->lane[i], out.n[i]);
        credit_keep(m, &q->lane[i]);
    }
    for (unsigned i = 0; i < q->n_lanes; i++)
        if (q->lane[i].recovering && q->allowed_per_s > 0)
            snprintf(q->rel.limited_by, sizeof(q->rel.limited_by), "recovery");
    if (q->shadow != NULL)
        shadow_tick(m, q, &p.in);
}

/* The part of a head's rest that may still go on: an operator may have paused the queue, or lowered
 * max_active, or ended a passthrough that let in everybody, and the head may have been away
 * for long. By rate no more than a tick is worth now, and what was carried. */
static uint64_t still_allowed(const struct mng *m, const struct mlane *l, uint64_t left)
{
    int state = l->q->def.state;
    bool everybody = queue_is_free(l->q);
    uint64_t may = left;

    if (!everybody && (state == DEF_PAUSED || state == DEF_REJECT))
        may = 0;
    else if (!everybody)
        may = u64_min(left, queue_lets_in(m, l->q));
    if (!everybody && l->q->def.mode != MODE_SLOTS)
        may = u64_min(may, (uint64_t)(2 * l->q->def.no_show_boost * one_tick(m, l->q)) + 2);
    return u64_min(left, may + l->pop.by_hand);
}

void on_seg_popped(struct mng *m, struct mnode *n, const struct msg_seg_popped *g)
{
    struct mseg *s = seg_find(m, g->seg);
    struct mlane *l;
    uint64_t left;
    bool away;

    if (s == NULL || s->node != n || g->epoch != m->epoch || g->status.seg != s->id)
        return;
    away = g->status.away > s->st.away; /* absent people in front: on with it */
    seg_status(m, s, &g->status);
    l = s->lane;
    if (!l->pop.busy || l->pop.seg != g->seg || l->pop.tick != g->tick)
        return; /* the answer to a repetition */
    node_way_note(n, m->now_ms - l->pop.since_ms, m->now_ms);
    l->released += g->n;
    m->count.released += g->n;
    left = l->pop.left > g->n ? l->pop.left - g->n : 0;
    l->pop.left = left;
    l->pop.by_hand -= u64_min(l->pop.by_hand, g->n);
    if (g->n > 0 && s->st.returning != 0) { /* give the rest next: one order lets in only so many who came back */
        uint64_t by_hand = u64_min(l->pop.by_hand, left);

        l->manual += by_hand;
        pop_end(m, l, left - by_hand, true);
    } else if (g->busy || left == 0 || !seg_dry(s)) {
        pop_end(m, l, left, g->busy || seg_is_rebuilding(s) || away);
    } else {
        l->pop.busy = false; /* ran dry: the next one, in the same tick */
        l->pop.left = still_allowed(m, l, left);
        pop_go(m, l);
    }
}

/* Asks again after its link is back, with the same tick. */
void pop_node_up(struct mng *m, struct mnode *n)
{
    each_node_seg(n, s) {
        if (s->lane->pop.busy && s->lane->pop.seg == s->id)
            pop_send(m, s->lane, s);
    }
}

/* ---- figures outside of ticks ---------------------------------------------------- */

/* Else its page would show the rate of an hour ago. */
void idle_figures(struct mng *m, struct mqueue *q)
{
    assert(!q->active);
    struct release copy;
    double allowed = pops_peek(m, q, &copy);

    if (allowed == q->allowed_per_s && strcmp(copy.limited_by, q->rel.limited_by) == 0)
        return;
    q->allowed_per_s = allowed;
    memcpy(q->rel.limited_by, copy.limited_by, sizeof(q->rel.limited_by));
    q->stats_dirty = true;
}

void queue_figures_now(struct mng *m, struct mqueue *q)
{
    struct release copy;

    for (unsigned i = 0; i < q->n_lanes; i++)
        if (q->def.state == DEF_PAUSED || q->def.state == DEF_REJECT) /* now, not with the next second */
            eta_hold(&q->lane[i].eta, q->def.state == DEF_PAUSED);
    if (!q->active) {
        idle_figures(m, q);
    } else {
        (void)pops_peek(m, q, &copy);
        memcpy(q->rel.limited_by, copy.limited_by, sizeof(q->rel.limited_by));
    }
    q->stats_dirty = m->stats_now = true;
}

/* ---- queues that open and close by the clock ---- */


static bool has_schedule(const struct mqueue *q)
{
    return q->sched.opens_ms != 0 || q->sched.closes_ms != 0 || q->sched.phase != SCHED_PLAIN;
}

/* Makes a seed from a secret that nobody knows, and that no seed gives away. */
static void next_seed(struct mng *m, const struct mqueue *q, uint8_t seed[DRAW_SEED])
{
    const uint64_t what[] = { m->opts.seed, m->epoch, q->id, ++m->seeds };
    crypto_hash_sha256_state s;

    crypto_hash_sha256_init(&s);
    crypto_hash_sha256_update(&s, m->opts.secret, sizeof(m->opts.secret));
    crypto_hash_sha256_update(&s, (const uint8_t *)what, sizeof(what));
    crypto_hash_sha256_final(&s, seed);
}

static void sched_look(struct mng *m, struct mqueue *q)
{
    static const char *const names[] = { "plain", "early", "prequeue", "over" };
    uint8_t seed[DRAW_SEED], was = q->sched.phase;

    if (!m->started)
        return;
    next_seed(m, q, seed);
    if (!schedule_step(&q->sched, &q->def.when, m->sched_ms, seed))
        return;
    assert(q->sched.phase < ARRAY_LEN(names));
    if (q->sched.phase != was)
        log_info("event=schedule queue=%s phase=%s was=%s", q->def.name, names[q->sched.phase],
                 names[was]);
    if (q->sched.phase != was)
        q->early_ready = false;
    q->put_sched = true;
    queue_put_later(m, q);
    queue_mapped(m, q);
    queue_figures_now(m, q);
    for (unsigned i = 0; i < q->n_lanes; i++)
        lane_touch(m, &q->lane[i]);
}

void sched_set(struct mng *m, struct mqueue *q)
{
    schedule_set(&q->sched, &q->def.when);
    if (has_schedule(q)) {
        m->schedules = true;
        sched_look(m, q);
    }
}

/* Queues without a schedule cost a look once a second: the flag says if there is any. */
void sched_tick(struct mng *m, bool second)
{
    m->sched_ms = wall_believed(&m->wall_guard, m->now_ms, m->wall_raw_ms);
    if (!m->schedules && !second)
        return;
    m->schedules = false;
    each_queue(m, q) {
        if (!has_schedule(q))
            continue;
        m->schedules = true;
        sched_look(m, q); /* may put it at the end of the list: seen again, unchanged */
    }
}
