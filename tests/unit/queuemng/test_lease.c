/* test_lease.c: one leader at a time, whatever is lost, late, out of order, stopped, or
 * measured on clocks that differ: each rule alone, then thousands of seeded worlds. */
#include "queuemng/policy/lease.h"

#include "tests/lib/criterion.h"
#include <string.h>

#define TTL 2000

/* ---- rules, one by one ----------------------------------------------------------- */

static struct lease_out step(struct lease *l, struct lease_in in)
{
    struct lease_out out;

    lease_step(l, &in, &out);
    return out;
}

static bool did(const struct lease_out *o, enum lease_do what)
{
    for (unsigned i = 0; i < o->n; i++)
        if (o->act[i].what == what)
            return true;
    return false;
}

/* A leader of epoch 7, whose lease was asked for at 0 and answered at 10. */
static void lead(struct lease *l)
{
    struct lease_out o;

    lease_init(l, TTL, 1, 0);
    o = step(l, (struct lease_in) { LEASE_TICK, .now_ms = 0 });
    cr_assert(did(&o, LEASE_TAKE));
    o = step(l, (struct lease_in) { LEASE_GRANTED, .now_ms = 10, .serial = l->serial,
                                    .epoch = 7 });
    cr_assert(did(&o, LEASE_LEAD));
    cr_assert_eq(l->epoch, 7);
}

Test(lease, the_lease_counts_from_the_request)
{
    struct lease l;

    lead(&l);
    cr_assert(lease_leads(&l, TTL - TTL / 8 - 1));
    cr_assert_not(lease_leads(&l, TTL - TTL / 8));
}

Test(lease, a_late_grant_is_ignored)
{
    struct lease l;
    struct lease_out o;

    lease_init(&l, TTL, 1, 0);
    (void)step(&l, (struct lease_in) { LEASE_TICK, .now_ms = 0 });
    o = step(&l, (struct lease_in) { LEASE_GRANTED, .now_ms = TTL, .serial = l.serial,
                                     .epoch = 7 });
    cr_assert_not(did(&o, LEASE_LEAD));
    cr_assert_eq(l.state, LEASE_STANDBY);
}

Test(lease, renews_at_a_third)
{
    struct lease l;
    struct lease_out o;

    lead(&l);
    o = step(&l, (struct lease_in) { LEASE_TICK, .now_ms = TTL / 3 - 1 });
    cr_assert_eq(o.n, 0);
    cr_assert_eq(o.wake_ms, TTL / 3);
    o = step(&l, (struct lease_in) { LEASE_TICK, .now_ms = TTL / 3 });
    cr_assert(did(&o, LEASE_RENEW));
    (void)step(&l,
               (struct lease_in) { LEASE_RENEWED, .now_ms = 700, .serial = l.serial });
    cr_assert(lease_leads(&l, TTL / 3 + TTL - TTL / 8 - 1));
}

Test(lease, an_old_answer_does_not_count)
{
    struct lease l;
    uint64_t old;

    lead(&l);
    (void)step(&l, (struct lease_in) { LEASE_TICK, .now_ms = TTL / 3 });
    old = l.serial;
    (void)step(&l, (struct lease_in) { LEASE_TICK, .now_ms = TTL / 3 * 2 });
    cr_assert_neq(l.serial, old, "silence: asked again");
    (void)step(&l, (struct lease_in) { LEASE_RENEWED, .now_ms = 1400, .serial = old });
    cr_assert_not(lease_leads(&l, TTL - TTL / 8));
}

Test(lease, steps_down_when_time_is_over_and_when_told)
{
    struct lease l;
    struct lease_out o;

    lead(&l);
    o = step(&l, (struct lease_in) { LEASE_TICK, .now_ms = TTL - TTL / 8 });
    cr_assert(did(&o, LEASE_STEP_DOWN));
    lead(&l);
    (void)step(&l, (struct lease_in) { LEASE_TICK, .now_ms = TTL / 3 });
    o = step(&l, (struct lease_in) { LEASE_HELD, .now_ms = 700, .serial = l.serial,
                                     .left_ms = 500 });
    cr_assert(did(&o, LEASE_STEP_DOWN));
    cr_assert_lt(o.wake_ms, 700 + 500 + TTL / 10 + 1);
}

/* Stopped for five seconds; the first thing that it sees is the answer of long ago. */
Test(lease, a_pause_ends_the_term_also_if_an_answer_was_waiting)
{
    struct lease l;
    struct lease_out o;

    lead(&l);
    (void)step(&l, (struct lease_in) { LEASE_TICK, .now_ms = TTL / 3 });
    o = step(&l, (struct lease_in) { LEASE_RENEWED, .now_ms = 5667, .serial = l.serial });
    cr_assert(did(&o, LEASE_STEP_DOWN));
    cr_assert_not(lease_leads(&l, 5667));
}

Test(lease, resigning_releases_the_lease_for_good)
{
    struct lease l;
    struct lease_out o;

    lead(&l);
    o = step(&l, (struct lease_in) { LEASE_RESIGN, .now_ms = 20 });
    cr_assert(did(&o, LEASE_STEP_DOWN));
    cr_assert(did(&o, LEASE_FREE));
    cr_assert_eq(o.wake_ms, MSEC_NEVER);
    o = step(&l, (struct lease_in) { LEASE_TICK, .now_ms = 100000 });
    cr_assert_eq(o.n, 0);
    lead(&l); /* and if the term was over at that very moment */
    o = step(&l, (struct lease_in) { LEASE_RESIGN, .now_ms = 9000 });
    cr_assert(did(&o, LEASE_STEP_DOWN));
    cr_assert_eq(o.wake_ms, MSEC_NEVER);
}

Test(lease, fenced_takes_a_higher_epoch_and_less_and_less_often)
{
    struct lease l;
    struct lease_out o;
    msec_t first, second;

    lead(&l);
    o = step(&l, (struct lease_in) { LEASE_FENCED, .now_ms = 100, .epoch = 9 });
    cr_assert(did(&o, LEASE_STEP_DOWN));
    first = o.wake_ms - 100;
    o = step(&l, (struct lease_in) { LEASE_TICK, .now_ms = o.wake_ms });
    cr_assert(did(&o, LEASE_TAKE));
    cr_assert_eq(o.act[0].epoch, 9, "the store is told what to go above");
    (void)step(&l, (struct lease_in) { LEASE_GRANTED, .now_ms = l.sent_ms,
                                       .serial = l.serial, .epoch = 10 });
    o = step(&l,
             (struct lease_in) { LEASE_FENCED, .now_ms = l.sent_ms + 1, .epoch = 11 });
    second = o.wake_ms - l.sent_ms - 1;
    cr_assert_gt(second, first);
}

Test(lease, a_lost_term_is_followed_by_another_soon)
{
    struct lease l;
    struct lease_out o;
    msec_t waited = 0, at = 100;

    lead(&l);
    for (unsigned i = 0; i < 8; i++) {
        o = step(&l, (struct lease_in) { LEASE_UNUSABLE, .now_ms = at });
        cr_assert(did(&o, LEASE_STEP_DOWN));
        waited = ms_max(waited, o.wake_ms - at);
        o = step(&l, (struct lease_in) { LEASE_TICK, .now_ms = o.wake_ms });
        cr_assert(did(&o, LEASE_TAKE));
        at = l.sent_ms + 1;
        o = step(&l, (struct lease_in) { LEASE_GRANTED, .now_ms = at, .serial = l.serial,
                                         .epoch = 10 + i });
        cr_assert(did(&o, LEASE_LEAD));
    }
    cr_expect_lt(waited, TTL / 2, "however often it happens");
}

/* ---- worlds ---------------------------------------------------------------------- */

#define MANAGERS 3
#define MSGS     256
#define RUN_MS   20000
#define CALM_MS  (RUN_MS - 3 * TTL) /* no more faults from here on */

struct man {
    struct lease l;
    uint64_t owner;     /* fresh at every start of the process */
    double rate, ahead; /* of its clock */
    double wake, stopped_until;
    bool dead;
};
struct net_msg {
    double at;
    bool to_server, used;
    int man;
    uint64_t owner, serial, epoch; /* epoch: floor of a take */
    int kind;                      /* enum lease_do to the server, lease_kind from it */
    msec_t left;
};
struct world {
    uint64_t seed;
    struct rng rng;
    double now;
    struct man m[MANAGERS];
    struct net_msg msg[MSGS];
    /* the server, which runs the same rules as the script of redis_store.c */
    uint64_t owner, epoch, last_owner;
    double rate, expires;
    uint64_t last_epoch; /* of a term that began */
    double loss, slow, stop, crash;
    unsigned terms;
};

static msec_t clock_of(const struct world *w, const struct man *m)
{
    return (msec_t)(w->now * m->rate + m->ahead);
}

static void net_send(struct world *w, struct net_msg msg)
{
    double delay = 1 + 20 * rng_unit(&w->rng);

    if (w->now < CALM_MS && rng_chance(&w->rng, w->loss))
        return;
    if (w->now < CALM_MS && rng_chance(&w->rng, w->slow))
        delay = 4000 * rng_unit(&w->rng);
    for (int i = 0; i < MSGS; i++)
        if (!w->msg[i].used) {
            msg.used = true;
            msg.at = w->now + delay;
            w->msg[i] = msg;
            return;
        }
    cr_assert_fail("seed %llu: network full", (unsigned long long)w->seed);
}

/* At most one believes that it leads, at every instant: a belief begins or grows only in
 * a step, so after every step is often enough. */
static void check(const struct world *w)
{
    int n = 0;

    for (int i = 0; i < MANAGERS; i++)
        n += !w->m[i].dead && lease_leads(&w->m[i].l, clock_of(w, &w->m[i]));
    cr_assert_leq(n, 1, "seed %llu at %.0f: %d leaders", (unsigned long long)w->seed,
                  w->now, n);
}

static void do_act(struct world *w, int i, const struct lease_act *a)
{
    struct man *m = &w->m[i];

    if (a->what == LEASE_LEAD) {
        cr_assert_gt(a->epoch, w->last_epoch, "seed %llu: epochs grow",
                     (unsigned long long)w->seed);
        w->last_epoch = a->epoch;
        w->terms++;
    } else if (a->what != LEASE_STEP_DOWN) {
        net_send(w, (struct net_msg) { .to_server = true,
                                       .man = i,
                                       .owner = m->owner,
                                       .serial = a->serial,
                                       .epoch = a->epoch,
                                       .kind = (int)a->what });
    }
}

static void feed(struct world *w, int i, struct lease_in in)
{
    struct man *m = &w->m[i];
    struct lease_out out;

    in.now_ms = clock_of(w, m);
    lease_step(&m->l, &in, &out);
    for (unsigned k = 0; k < out.n; k++)
        do_act(w, i, &out.act[k]);
    m->wake = out.wake_ms == MSEC_NEVER
                  ? 1e12
                  : ((double)out.wake_ms - m->ahead) / m->rate + rng_unit(&w->rng) * 2;
    check(w);
}

static void start(struct world *w, int i)
{
    struct man *m = &w->m[i];

    m->dead = false;
    m->owner = ++w->last_owner;
    m->rate = 0.99 + 0.02 * rng_unit(&w->rng);
    m->ahead = 1e6 * rng_unit(&w->rng);
    m->wake = w->now;
    lease_init(&m->l, TTL, rng_u64(&w->rng), clock_of(w, m));
}

static void serve(struct world *w, const struct net_msg *q)
{
    struct net_msg a = { .man = q->man, .owner = q->owner, .serial = q->serial };
    double now = w->now * w->rate;
    bool held = w->owner != 0 && now < w->expires;

    if (q->kind == LEASE_FREE) {
        if (held && w->owner == q->owner)
            w->owner = 0;
        return;
    }
    if (held ? w->owner != q->owner : q->kind == LEASE_RENEW) {
        a.kind = LEASE_HELD;
        a.left = held ? (msec_t)(w->expires - now) : 0;
    } else if (q->kind == LEASE_RENEW && q->epoch != w->epoch) {
        a.kind = LEASE_HELD;
    } else if (q->kind == LEASE_RENEW) {
        a.kind = LEASE_RENEWED;
        w->expires = now + TTL;
    } else {
        a.kind = LEASE_GRANTED;
        w->owner = q->owner;
        w->expires = now + TTL;
        a.epoch = w->epoch = (q->epoch > w->epoch ? q->epoch : w->epoch) + 1;
    }
    net_send(w, a);
}

static void deliver(struct world *w, struct net_msg *msg)
{
    struct net_msg q = *msg;
    struct man *m = &w->m[q.man];

    if (!q.to_server && w->now < m->stopped_until) {
        msg->at = m->stopped_until; /* lies in its socket */
        return;
    }
    msg->used = false;
    if (q.to_server)
        serve(w, &q);
    else if (!m->dead && m->owner == q.owner)
        feed(w, q.man,
             (struct lease_in) { (enum lease_kind)q.kind, .serial = q.serial,
                                 .epoch = q.epoch, .left_ms = q.left });
}

static void tick(struct world *w, int i)
{
    struct man *m = &w->m[i];
    struct lease_in in = { .kind = LEASE_TICK };

    if (w->now < m->stopped_until) {
        m->wake = m->stopped_until;
        return;
    }
    if (m->dead) {
        start(w, i);
        return;
    }
    if (w->now < CALM_MS) {
        if (rng_chance(&w->rng, w->stop)) {
            m->stopped_until = w->now + 5000 * rng_unit(&w->rng);
            m->wake = m->stopped_until;
            return;
        }
        if (rng_chance(&w->rng, w->crash)) {
            m->dead = true;
            m->wake = w->now + 3000 * rng_unit(&w->rng);
            return;
        }
        if (rng_chance(&w->rng, w->crash)) {
            feed(w, i, (struct lease_in) { .kind = LEASE_RESIGN });
            m->dead = true;
            m->wake = w->now + 3000 * rng_unit(&w->rng);
            return;
        }
        if (rng_chance(&w->rng, w->crash))
            in = (struct lease_in) { .kind = LEASE_FENCED, .epoch = w->epoch + 1 };
    }
    feed(w, i, in);
}

/* Delivers or ticks whatever comes next. */
static void next(struct world *w)
{
    struct net_msg *msg = NULL;
    int man = 0;

    for (int i = 0; i < MSGS; i++)
        if (w->msg[i].used && (msg == NULL || w->msg[i].at < msg->at))
            msg = &w->msg[i];
    for (int i = 1; i < MANAGERS; i++)
        if (w->m[i].wake < w->m[man].wake)
            man = i;
    if (msg != NULL && msg->at < w->m[man].wake) {
        w->now = msg->at;
        deliver(w, msg);
    } else {
        w->now = w->m[man].wake > w->now ? w->m[man].wake : w->now + 0.5;
        tick(w, man);
    }
}

static unsigned world_run(uint64_t seed)
{
    struct world w = { .seed = seed };
    int leaders = 0;

    rng_seed(&w.rng, seed);
    w.rate = 0.99 + 0.02 * rng_unit(&w.rng);
    w.loss = rng_chance(&w.rng, 0.5) ? 0.5 * rng_unit(&w.rng) : 0;
    w.slow = rng_chance(&w.rng, 0.5) ? 0.5 * rng_unit(&w.rng) : 0;
    w.stop = rng_chance(&w.rng, 0.5) ? 0.2 * rng_unit(&w.rng) : 0;
    w.crash = rng_chance(&w.rng, 0.5) ? 0.1 * rng_unit(&w.rng) : 0;
    for (int i = 0; i < MANAGERS; i++)
        start(&w, i);
    while (w.now < RUN_MS)
        next(&w);
    for (int i = 0; i < MANAGERS; i++)
        leaders += !w.m[i].dead && lease_leads(&w.m[i].l, clock_of(&w, &w.m[i]));
    cr_assert(leaders == 1 || w.crash > 0, "seed %llu: %d leaders in calm weather",
              (unsigned long long)seed, leaders);
    return w.terms;
}

Test(lease, never_two_leaders_in_ten_thousand_worlds, .timeout = 120)
{
    uint64_t terms = 0;

    for (uint64_t seed = 1; seed <= 10000; seed++)
        terms += world_run(seed);
    cr_assert_gt(terms, 20000, "the worlds were eventful: %llu terms",
                 (unsigned long long)terms);
}
