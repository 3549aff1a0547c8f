/* test_eta.c: what people are told about their time: steps with a reason, and no others;
 * how true it is, on a line that is simulated second by second; and with the manager core
 * and node cores (mngrig.h): what routers hear, and that promises are probed. */
#define MR_TICKETS 4000
#include "tests/lib/mngrig.h"

#include <math.h>

#include "common/base/rng.h"
#include "queuemng/policy/eta_lane.h"

/* A line in which everybody was told something every second. */
struct line {
    struct eta_lane e;
    struct eta_in in;
    double rate, leave; /* as it really is */
    double owed, left;
    uint64_t waiting;
    struct eta_errors errors;
    uint64_t released;
    double told[100000]; /* by the number of the place; 0: not yet */
    unsigned raised;     /* times that somebody's time grew without a reason */
};

static void line_init(struct line *l, uint64_t waiting, double rate)
{
    memset(l, 0, sizeof(*l));
    l->waiting = waiting;
    l->rate = rate;
    l->in.now_ms = 1000;
    l->in.told_for_ms = 20000;
}

static uint64_t whole(double *sum, double more)
{
    uint64_t n;

    *sum += more;
    n = (uint64_t)*sum;
    *sum -= (double)n;
    return n;
}

static void tell_all(struct line *l)
{
    double rate = eta_told_rate(&l->e);

    for (uint64_t p = 37 - l->released % 37; p <= l->waiting && rate > 0; p += 37) {
        double *was = &l->told[(l->released + p) % ARRAY_LEN(l->told)]; /* always the same */
        double now = eta_seconds(rate, l->e.told_leave, p);

        if (*was > 0 && now > *was + 1e-6 && l->e.reason == ETA_AS_TOLD)
            l->raised++;
        *was = now;
    }
}

/* Who leaves is not followed by number: only without leaving are all times compared. */
static void second(struct line *l)
{
    uint64_t gone = whole(&l->left, l->leave * (double)l->waiting);
    uint64_t n = whole(&l->owed, l->rate);

    n = n < l->waiting ? n : l->waiting;
    l->waiting -= n;
    gone = gone < l->waiting ? gone : l->waiting;
    l->waiting -= gone;
    l->released += n;
    l->in.now_ms += 1000;
    l->in.waiting = l->waiting;
    l->in.released = n;
    l->in.gone = gone;
    eta_second(&l->e, &l->in);
    if (l->leave <= 0)
        tell_all(l);
}

static void run(struct line *l, unsigned seconds)
{
    while (seconds-- > 0)
        second(l);
}

static double told(const struct line *l)
{
    return eta_seconds(eta_told_rate(&l->e), l->e.told_leave, l->waiting);
}

Test(eta, allowed_rate_is_used_from_the_first_second)
{
    static struct line l;

    line_init(&l, 5000, 20);
    l.in.allowed = 20;
    second(&l);
    cr_expect_float_eq(told(&l), 249, 1, "%g", told(&l));
    cr_expect_eq(l.e.reason, ETA_AS_TOLD);
    run(&l, 100);
    cr_expect_float_eq(told(&l), (double)l.waiting / 20, 1);
    cr_expect_eq(l.e.reason, ETA_AS_TOLD);
    cr_expect_eq(l.raised, 0);
}

Test(eta, nothing_allowed_is_known_only_from_measuring)
{
    static struct line l;

    line_init(&l, 5000, 20);
    cr_expect_eq(told(&l), -1);
    second(&l);
    cr_expect_eq(told(&l), -1, "the house may just be filling");
    run(&l, 20);
    cr_expect_float_eq(told(&l), (double)l.waiting / 20, 5, "%g", told(&l));
}

/* By chance: as many as a clock that throws dice. Nobody's time grows for that. */
Test(eta, chance_is_no_change)
{
    static struct line l;
    struct rng r;

    rng_seed(&r, 5);
    line_init(&l, 60000, 0);
    l.in.allowed = 20;
    for (unsigned s = 0; s < 1500; s++) {
        l.rate = 0;
        for (unsigned i = 0; i < 40; i++)
            l.rate += rng_chance(&r, 0.5);
        second(&l);
    }
    cr_expect_eq(l.raised, 0);
    cr_expect_float_eq(l.e.told_rate, 20, 3, "%g", l.e.told_rate);
}

Test(eta, a_real_change_is_told_with_its_reason_for_a_while)
{
    static struct line l;
    unsigned s = 0;

    line_init(&l, 60000, 40);
    l.in.allowed = 40;
    run(&l, 60);
    l.rate = 10; /* nobody says why */
    for (; s < 60 && l.e.reason != ETA_SLOWER; s++)
        second(&l);
    cr_expect_lt(s, 20, "noticed after %u s", s);
    run(&l, 120);
    cr_expect_float_eq(l.e.told_rate, 10, 1.5, "%g", l.e.told_rate);
    cr_expect_eq(l.e.reason, ETA_AS_TOLD);
    l.in.allowed = l.rate = 80; /* the controller says so */
    second(&l);
    cr_expect_eq(l.e.reason, ETA_FASTER);
    run(&l, 100);
    cr_expect_float_eq(l.e.told_rate, 80, 10, "%g", l.e.told_rate);
    cr_expect_eq(l.raised, 0);
}

Test(eta, paused_is_unknown_and_then_as_before)
{
    static struct line l;
    double was;

    line_init(&l, 5000, 20);
    l.in.allowed = 20;
    run(&l, 30);
    was = told(&l);
    l.in.paused = true;
    l.rate = 0;
    run(&l, 300);
    cr_expect_eq(told(&l), -1);
    cr_expect_eq(l.e.reason, ETA_PAUSED);
    l.in.paused = false;
    l.in.stopped = true;
    second(&l);
    cr_expect_eq(l.e.reason, ETA_STOPPED);
    l.in.stopped = false;
    l.rate = 20;
    second(&l);
    cr_expect_leq(told(&l), was);
    cr_expect_gt(told(&l), 0);
    cr_expect_eq(l.raised, 0);
}

Test(eta, with_slots_full_and_nobody_leaving_it_goes_by_the_longest_stay)
{
    static struct line l;

    line_init(&l, 5000, 0);
    l.in.by_stay = 0.5; /* 1800 inside for an hour each */
    second(&l);
    cr_expect_eq(told(&l), 10000, "%g", told(&l));
    cr_expect_eq(l.e.reason, ETA_STAY);
    run(&l, 300);
    cr_expect_eq(told(&l), 10000, "%g", told(&l));
    l.rate = 10; /* they begin to leave */
    run(&l, 60);
    cr_expect_lt(told(&l), 600, "%g", told(&l));
    cr_expect_neq(l.e.reason, ETA_STAY);
    l.rate = 0; /* and nobody does any more: not for ever */
    run(&l, 400);
    cr_expect_leq(told(&l), 10000, "%g", told(&l));
    cr_expect_eq(l.e.reason, ETA_STAY);
    l.in.paused = true;
    second(&l);
    cr_expect_eq(told(&l), -1);
}

/* A line that is shorter than what comes in a second says how fast people come. */
Test(eta, a_short_line_tells_nothing_of_the_top_rate)
{
    static struct line l;

    line_init(&l, 0, 50);
    l.in.allowed = 50;
    for (unsigned s = 0; s < 100; s++) {
        l.waiting += 5;
        second(&l);
    }
    l.waiting = 5000;
    second(&l);
    cr_expect_float_eq(told(&l), 99, 2, "%g", told(&l));
}

Test(eta, leavers_shorten_it_within_bounds)
{
    static struct line l;
    unsigned s = 0;
    double promised;

    line_init(&l, 20000, 20);
    l.in.allowed = 20;
    l.leave = 0.0005;
    run(&l, 100);
    promised = told(&l);
    cr_expect_lt(promised, 0.95 * (double)l.waiting / 20);
    for (; l.waiting > 0; s++)
        second(&l);
    cr_expect_float_eq(promised, s, 0.1 * s, "promised %g, took %u", promised, s);
    line_init(&l, 20000, 20);
    l.in.allowed = 20;
    run(&l, 10);
    l.leave = 0.2; /* a crowd of scripts times out */
    run(&l, 3);
    l.leave = 0;
    run(&l, 20);
    cr_expect_gt(told(&l), 0.65 * (double)l.waiting / 20, "%g of %g", told(&l),
                 (double)l.waiting / 20);
}

Test(eta, probes_measure_the_error)
{
    struct eta_lane e = { .told_rate = 10 };
    struct eta_errors sum = { 0 };
    msec_t now = 1000000;

    eta_probe(&e, now, 7, 99, 100); /* 10 s */
    eta_probe(&e, now + 1000, 7, 120, 120);
    eta_passed(&e, now + 9000, 7, 99, &sum);
    eta_passed(&e, now + 9000, 8, 500, &sum);
    cr_expect_eq(sum.n, 0);
    eta_passed(&e, now + 14000, 7, 100, &sum);
    eta_passed(&e, now + 15000, 7, 100, &sum);
    cr_expect_eq(sum.n, 1, "too early for a second probe, and each counts once");
    cr_expect_float_eq(sum.sum_s, 4, 1e-9);
    cr_expect_float_eq(sum.promised_s, 10, 1e-9);
    cr_expect_eq(sum.le[2], 1);
}

/* However long the line is, some probes are always under way, spread over it. */
Test(eta, probes_of_a_long_line_come_less_often)
{
    struct eta_lane e = { .told_rate = 1 };
    unsigned used = 0;

    for (uint32_t s = 1; s <= 7200; s++)
        eta_probe(&e, s * 1000 + 10000, 7, s, 100000);
    for (unsigned i = 0; i < ETA_PROBES; i++)
        used += e.probe[i].seg != 0;
    cr_expect_geq(used, ETA_PROBES / 2 - 1);
    cr_expect_geq(e.probe_every_ms, 7200000 / ETA_PROBES / 2);
}

/* ---- in a cluster ----------------------------------------------------------------------- */

#define QUEUE                                                                            \
    "{\"name\": \"q\", \"release_per_s\": 50, \"segment_capacity\": 300, "               \
    "\"idle\": {\"game\": \"10m\", \"mobile\": \"10m\", \"browser\": \"10m\"}}"

static void find_eta(void *ctx, const void *view)
{
    *(double *)ctx = ((const struct mng_lane_view *)view)->eta_per_s;
}

Test(eta, predicted_waits_come_true)
{
    struct mr *r = mr_new("eta");
    const struct eta_errors *e;
    double per_s = 0;

    r->crowd = true;
    mr_put_queue(r, QUEUE);
    mr_run(r, 500);
    mr_join(r, 900);
    for (unsigned i = 0; i < 10; i++) { /* nobody who joins makes it less true */
        mr_run(r, 1500);
        mr_join(r, 40);
    }
    mng_each_lane(r->m, 0, find_eta, &per_s);
    cr_expect_float_eq(per_s, 50, 5, "%g", per_s);
    mr_run(r, 20000);
    e = mng_eta_errors(r->m);
    cr_expect_geq(e->n, 3);
    cr_expect_lt(e->sum_s, 0.15 * e->promised_s, "%g s of %g s", e->sum_s, e->promised_s);
    mr_free(r);
}

static void find_last(void *ctx, const void *view)
{
    *(struct mng_lane_view *)ctx = *(const struct mng_lane_view *)view;
}

static struct mng_lane_view last_of(struct mr *r)
{
    struct mng_lane_view v;

    mng_each_lane(r->m, 0, find_last, &v);
    return v;
}

/* What the operator reads is what the last in line is told. */
Test(eta, wait_of_the_last_or_the_reason_it_is_unknown)
{
    struct mr *r = mr_new("eta");
    struct mng_lane_view v;

    r->crowd = true;
    mr_put_queue(r, QUEUE);
    mr_run(r, 500);
    v = last_of(r);
    cr_expect_eq(v.eta_last_s, 0);
    cr_expect_null(v.eta_reason);
    mr_join(r, 900);
    mr_run(r, 3000);
    v = last_of(r);
    cr_expect_float_eq(v.eta_last_s, (double)v.waiting / 50, 1.5, "%g", v.eta_last_s);
    mr_order(r, MNG_PAUSE);
    mr_run(r, 1100);
    v = last_of(r);
    cr_expect_eq(v.eta_last_s, -1);
    cr_expect_str_eq(v.eta_reason, "paused");
    mr_free(r);
}

/* 20 slots for 100 s each: nobody has left, and the last of the others knows his time all the same. */
Test(eta, slots_that_are_full_say_how_long_at_most)
{
    struct mr *r = mr_new("stay");
    struct mng_lane_view v;

    r->crowd = true;
    mr_put_queue(r, "{\"name\": \"q\", \"mode\": \"slots\", \"max_active\": 20, \"pass_ttl\": \"100s\","
                    " \"session_max\": \"100s\", \"segment_capacity\": 1000}");
    mr_run(r, 500);
    mr_join(r, 120);
    mr_run(r, 4000);
    v = last_of(r);
    cr_expect_eq(v.waiting, 100, "%llu", (unsigned long long)v.waiting);
    cr_expect_float_eq(v.eta_last_s, 500, 1, "%g", v.eta_last_s);
    cr_expect_str_eq(v.eta_reason, "stay");
    mr_free(r);
}

/* A second later routers had said it anyway: until then page and status contradicted. */
Test(eta, reason_changes_with_its_order)
{
    struct mr *r = mr_new("figures");

    mr_put_queue(r, QUEUE);
    mr_run(r, 2000);
    cr_expect_str_eq(routes_queue(r->routes, "q", 1)->stats.limited_by, "fixed");
    mr_order(r, MNG_REJECT);
    mr_pump(r);
    cr_expect_str_eq(routes_queue(r->routes, "q", 1)->stats.limited_by, "reject");
    mr_free(r);
}

/* 400 people in a line of which five go in a second. */
static struct mr *line_of_400(const char *name, const char *more_keys)
{
    struct mr *r = mr_new(name);
    char def[300];

    snprintf(def, sizeof(def), "{\"name\": \"q\", \"release_per_s\": 5, \"segment_capacity\": 4000, \"merge\": false%s}",
             more_keys);
    r->crowd = r->may_lose = true;
    mr_put_queue(r, def);
    mr_run(r, 500);
    mr_join(r, 400);
    mr_play(r, 5000);
    return r;
}

/* For how many of the next 70 seconds the wait is unknown; in the others it is about the truth. */
static unsigned unknown_s(struct mr *r)
{
    unsigned unknown = 0;
    struct mng_lane_view v;

    for (unsigned s = 0; s < 70; s++) {
        mr_play(r, 1000);
        v = last_of(r);
        unknown += v.eta_reason != NULL && strcmp(v.eta_reason, "stopped") == 0;
        cr_expect_lt(v.eta_last_s, 1.5 * (double)v.waiting / 5 + 10, "after %u s: %g s for %llu", s, v.eta_last_s,
                     (unsigned long long)v.waiting);
    }
    cr_expect_eq(v.n_away, 0);
    cr_expect_gt(v.eta_last_s, 0);
    return unknown;
}

/* The next ones have gone for good, so nobody is let in until the rebuild ends: that was told as a rate
 * of nearly nothing, hours and then days. */
Test(eta, a_rebuild_promises_nobody_days)
{
    struct mr *r = line_of_400("held", ", \"poll_max\": \"5s\", \"idle\": {\"game\": \"40s\", \"mobile\": \"40s\", "
                                       "\"browser\": \"40s\"}");
    unsigned unknown;

    for (uint32_t i = 20; i < 60; i++)
        r->ticket[i].left = true;
    for (int i = 0; i < MR_NODES; i++)
        mr_lose(r, i);
    unknown = unknown_s(r);
    cr_expect_gt(unknown, 20, "%u s", unknown);
    mr_free(r);
}

/* Nodes that restart let nobody in for as long: that was told as a rate of nearly nothing, too. */
Test(eta, nodes_that_are_away_promise_nobody_days)
{
    struct mr *r = line_of_400("away", "");
    unsigned unknown;

    for (int i = 0; i < MR_NODES; i++)
        mr_link_down(r, &r->link[i], 20000);
    unknown = unknown_s(r);
    cr_expect_gt(unknown, 14, "%u s", unknown);
    cr_expect_lt(unknown, 21, "%u s", unknown);
    mr_free(r);
}

/* What was let in a moment ago is no contradiction to what may go in now. */
Test(eta, a_lower_rate_is_shown_within_two_seconds)
{
    struct mr *r = mr_new("shown");

    r->crowd = true;
    mr_put_queue(r, QUEUE);
    mr_run(r, 500);
    mr_join(r, 900);
    mr_run(r, 5000);
    cr_expect_float_eq(last_of(r).rate_per_s, 50, 5, "%g", last_of(r).rate_per_s);
    mr_order(r, MNG_REJECT);
    mr_run(r, 2100);
    cr_expect_eq(last_of(r).rate_per_s, 0, "%g", last_of(r).rate_per_s);
    mr_free(r);
}
