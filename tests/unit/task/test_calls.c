/* test_calls.c: when the calls of an endpoint may go. */
#include "task/calls/calls.h"
#include "task/calls/endpoint_lets.h"

#include "tests/lib/criterion.h"
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "task/containers/rate.h"

#define NOW  ((msec_t)1000000)
#define WALL 784111777000 /* Sun, 06 Nov 1994 08:49:37 GMT */

static struct calls calls;

static struct msg_endpoint gen(uint64_t serial)
{
    return (struct msg_endpoint){ .epoch = 1, .name = "gen", .serial = serial, .url = "http://gen",
                                  .rate = ENDPOINT_ANY, .burst = 1, .max_concurrent = 64,
                                  .deadline_ms = 30000, .connect_timeout_ms = 3000,
                                  .breaker_ratio = 50, .breaker_min = 20, .breaker_open_ms = 5000,
                                  .auth_field = "", .auth_file = "", .reading_path = "", .secret_file = "", .ca_file = "", .cert_file = "",
                                  .key_file = "", .proxy = "", .budget = "" };
}

static struct endpoint *defined(const struct msg_endpoint *m)
{
    struct endpoint *ep;

    calls_init(&calls);
    log_set_level(LOG_ERROR);
    cr_assert_eq(endpoints_define(&calls.endpoints, m, NOW), 0);
    ep = endpoints_find(&calls.endpoints, "gen");
    ep->usable = true;
    return ep;
}

/* How many begin in (from, to], of those that end at once. */
static unsigned begun(struct endpoint *ep, msec_t from, msec_t to)
{
    unsigned n = 0;

    for (msec_t at = from + 1; at <= to; at++)
        for (; endpoint_lets(ep, 0, at); n++)
            calls_end(&calls, calls_begin(&calls, ep, 1, at), at);
    return n;
}

Test(calls, a_rate_begins_empty_and_rises)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep;
    unsigned first, last;

    m.rate = 100 * 1000;
    ep = defined(&m);
    cr_expect_not(endpoint_lets(ep, 0, NOW));
    first = begun(ep, NOW, NOW + 1000);
    cr_expect(first >= 5 && first <= 20, "%u in the first second", first);
    (void)begun(ep, NOW + 1000, NOW + 10000);
    last = begun(ep, NOW + 10000, NOW + 11000);
    cr_expect(last >= 99 && last <= 101, "%u then", last);
    calls_fini(&calls);
}

/* A call of so many units, from its take to its end; unsent: no connection. */
static void call_of(struct endpoint *at, uint64_t cost, bool unsent, msec_t now)
{
    struct call_answer a = { .status = unsent ? 0 : 200, .fault = unsent ? CALL_CONNECT : CALL_NONE };
    struct going_call *g;

    endpoint_pays(at, cost, now);
    g = calls_begin(&calls, at, 1, now);
    g->cost = cost;
    g->step = CALL_SENT;
    calls_answered(g, &a, now, WALL);
    calls_end(&calls, g, now);
}

static uint64_t hundred[] = { 100, PER_SECOND, 0 }, ten[] = { 10, PER_SECOND, 0 };

Test(calls, units_close_an_endpoint_and_what_was_not_sent_costs_none)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep;
    struct going_call *g;
    int64_t ms;

    m.unit_rates = hundred;
    m.n_unit_rates = 3;
    m.unit_part = UNIT_PARTS;
    ep = defined(&m);
    cr_expect_not(endpoint_lets(ep, 0, NOW), "a bucket begins empty");
    cr_expect_eq(endpoint_when(ep, 0, NOW), NOW + 10);
    cr_expect_eq(endpoint_affords(ep, NOW + 9000), 100);
    call_of(ep, 100, false, NOW + 9000);
    cr_expect_not(endpoint_lets(ep, 0, NOW + 9000));
    cr_expect_eq(endpoint_eta(ep, 1, NOW + 9000, &ms), TASK_ETA_RATE);
    cr_expect_eq(ms, 1000, "%ld", (long)ms);
    call_of(ep, 100, true, NOW + 10000);
    cr_expect_eq(endpoint_affords(ep, NOW + 10000), 100);
    endpoint_pays(ep, 60, NOW + 10000);
    g = calls_begin(&calls, ep, 1, NOW + 10000);
    g->cost = 60;
    calls_end(&calls, g, NOW + 10000); /* its START was not written */
    cr_expect_eq(endpoint_affords(ep, NOW + 10000), 100);
    m.serial = 2;
    m.unit_part = 0;
    cr_assert_eq(endpoints_define(&calls.endpoints, &m, NOW + 10000), 0);
    cr_expect_not(endpoint_lets(ep, 0, NOW + 90000));
    cr_expect_eq(endpoint_when(ep, 0, NOW + 90000), MSEC_NEVER);
    calls_fini(&calls);
}

/* A call of an estimate, whose answer says how many units it took; status 429: it was not begun. */
static void call_that_took(struct endpoint *ep, uint64_t estimate, const char *took, unsigned status, msec_t now)
{
    struct call_answer a = { .status = (uint16_t)status };
    struct going_call *g;

    copy_text(a.used, sizeof(a.used), took);
    endpoint_pays(ep, estimate, now);
    g = calls_begin(&calls, ep, 1, now);
    g->cost = estimate;
    g->step = CALL_SENT;
    calls_answered(g, &a, now, WALL);
    cr_expect_eq(g->is_used, status != 429 && took[0] != '\0', "%u %s", status, took);
    calls_end(&calls, g, now);
}

Test(calls, what_a_call_truly_took_counts_for_its_endpoint)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep;

    m.unit_rates = hundred;
    m.n_unit_rates = 3;
    m.unit_part = UNIT_PARTS;
    ep = defined(&m);
    call_that_took(ep, 80, "30", 200, NOW + 9000);
    cr_expect_eq(endpoint_affords(ep, NOW + 9000), 70);
    call_that_took(ep, 50, "120", 200, NOW + 9000);
    cr_expect_eq(endpoint_affords(ep, NOW + 9000), 0);
    cr_expect_eq(endpoint_affords(ep, NOW + 9500), 0, "50 are owed");
    cr_expect_eq(endpoint_affords(ep, NOW + 9600), 10);
    call_that_took(ep, 10, "", 200, NOW + 9600);
    cr_expect_eq(endpoint_affords(ep, NOW + 9600), 0, "the estimate stands");
    call_that_took(ep, 60, "25", 429, NOW + 10200);
    cr_expect_eq(endpoint_affords(ep, NOW + 10200), 60, "it was not begun");
    calls_fini(&calls);
}

Test(calls, a_call_goes_to_a_target_that_has_its_units)
{
    struct msg_endpoint m = gen(1), t = gen(1);
    struct endpoint *ep, *a, *b;

    m.url = "";
    m.targets = true;
    ep = defined(&m);
    t.of = "gen";
    t.n_unit_rates = 3;
    t.unit_part = UNIT_PARTS;
    t.weight = 1;
    for (t.target = 1; t.target <= 2; t.target++) {
        t.name = t.target == 1 ? "gen#1" : "gen#2";
        t.unit_rates = t.target == 1 ? ten : hundred;
        cr_assert_eq(endpoints_define(&calls.endpoints, &t, NOW), 0);
        endpoints_find(&calls.endpoints, t.name)->usable = true;
    }
    a = endpoints_find(&calls.endpoints, "gen#1");
    b = endpoints_find(&calls.endpoints, "gen#2");
    cr_expect_eq(endpoint_affords(a, NOW + 9000), 10);
    endpoint_waits(ep, 50, NOW + 9000);
    for (unsigned i = 0; i < 2; i++) {
        cr_assert(endpoint_lets(ep, 0, NOW + 9000));
        cr_expect_eq(endpoint_target(ep, 0, 50, NOW + 9000), b, "the other one has not got 50");
        call_of(b, 50, false, NOW + 9000);
        endpoint_waits(ep, 50, NOW + 9000);
    }
    cr_expect_eq(endpoint_when(ep, 0, NOW + 9000), NOW + 9500, "b has 50 then");
    cr_expect_eq(endpoint_affords(a, NOW + 9499), 14, "a fills beyond its room");
    cr_expect_eq(endpoint_affords(ep, NOW + 9499), 49);
    endpoint_waits(ep, 7, NOW + 9100);
    cr_expect_eq(endpoint_affords(a, NOW + 9499), 10, "another one is next");
    calls_fini(&calls);
}

Test(calls, slots_rise_from_a_tenth)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep = defined(&m);

    cr_expect(endpoint_lets(ep, 5, NOW));
    cr_expect_not(endpoint_lets(ep, 6, NOW));
    cr_expect(endpoint_lets(ep, 8, NOW + 1000));
    cr_expect_not(endpoint_lets(ep, 10, NOW + 1000));
    cr_expect(endpoint_lets(ep, 63, NOW + 7000));
    cr_expect_not(endpoint_lets(ep, 64, NOW + 7000));
    calls_fini(&calls);
}

Test(calls, without_a_bound_there_are_a_thousand_slots)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep;

    m.max_concurrent = ENDPOINT_ANY;
    ep = defined(&m);
    cr_expect(endpoint_lets(ep, 999, NOW + 7000));
    cr_expect_not(endpoint_lets(ep, 1000, NOW + 7000));
    calls_fini(&calls);
}

Test(calls, a_share_of_nothing_lets_nothing_go)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep;

    m.max_concurrent = 0;
    ep = defined(&m);
    cr_expect_not(endpoint_lets(ep, 0, NOW + 100000));
    cr_expect_eq(endpoint_when(ep, 0, NOW + 100000), MSEC_NEVER);
    calls_fini(&calls);
}

static void answered(struct endpoint *ep, unsigned status, const char *retry_after, msec_t now)
{
    struct going_call *g = calls_begin(&calls, ep, 1, now);
    struct call_answer a = { .status = status };

    copy_text(a.retry_after, sizeof(a.retry_after), retry_after);
    g->step = CALL_SENT;
    calls_answered(g, &a, now, WALL);
    calls_end(&calls, g, now);
}

static void expect_eta(struct endpoint *ep, uint64_t nth, msec_t now, enum task_eta by, int64_t ms)
{
    int64_t is;

    cr_expect_eq(endpoint_eta(ep, nth, now, &is), by);
    cr_expect_eq(is, ms, "%lld", (long long)is);
}

Test(calls, a_start_is_reckoned_by_what_the_endpoint_lets_go)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep;

    m.rate = 1000;
    ep = defined(&m);
    ep->ramp = MSEC_NEVER;
    ep->tat = NOW * RATE_NS;
    expect_eta(ep, 1, NOW, TASK_ETA_RATE, 0);
    expect_eta(ep, 11, NOW, TASK_ETA_RATE, 10000);
    ep->held = NOW + 60000;
    expect_eta(ep, 11, NOW, TASK_ETA_RATE, 60000);
    ep->held = 0;
    ep->running = 64;
    expect_eta(ep, 1, NOW, TASK_ETA_CONCURRENCY, -1);
    ep->breaker.state = BREAKER_OPEN;
    expect_eta(ep, 1, NOW, TASK_ETA_ENDPOINT, -1);
    ep->def.paused = true;
    expect_eta(ep, 1, NOW, TASK_ETA_PAUSED, -1);
    calls_fini(&calls);
}

static void ends_with(struct endpoint *ep, enum call_fault fault, unsigned status, msec_t now)
{
    struct going_call *g = calls_begin(&calls, ep, 2, now);
    struct call_answer a = { .fault = fault, .status = status, .ms = 100 };

    g->step = CALL_SENT;
    calls_answered(g, &a, now, WALL);
    calls_end(&calls, g, now);
}

Test(calls, as_many_go_as_the_target_bears)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep;

    m.adaptive_min = 4;
    ep = defined(&m);
    ep->ramp = MSEC_NEVER;
    cr_expect(endpoint_lets(ep, 3, NOW));
    cr_expect_not(endpoint_lets(ep, 4, NOW));
    cr_expect_eq(endpoint_adaptive(ep), 4);
    ep->running = 4;
    expect_eta(ep, 1, NOW, TASK_ETA_ADAPTIVE, -1);
    cr_expect_not(endpoint_lacks_share(ep, NOW));
    ep->running = 3;
    cr_expect(endpoint_lacks_share(ep, NOW), "its rate may be what holds it up");
    ep->running = 64;
    expect_eta(ep, 1, NOW, TASK_ETA_CONCURRENCY, -1);
    cr_expect_not(endpoint_lacks_share(ep, NOW));
    ep->adaptive.limit = 64;
    cr_expect(endpoint_lacks_share(ep, NOW), "as many as the share are allowed");
    ep->adaptive.limit = 20;
    ends_with(ep, CALL_NONE, 500, NOW + 1);
    cr_expect_eq(endpoint_adaptive(ep), 20, "a 500 says nothing of how much it bears");
    ends_with(ep, CALL_NONE, 503, NOW + 1);
    cr_expect_eq(endpoint_adaptive(ep), 18);
    ends_with(ep, CALL_TIMEOUT, 0, NOW + 2);
    cr_expect_eq(endpoint_adaptive(ep), 16);
    ep->def.max_concurrent = 10;
    cr_expect_eq(endpoint_adaptive(ep), 10, "a new definition counts at once");
    ep->def.adaptive_min = 0;
    cr_expect_eq(endpoint_adaptive(ep), 0);
    cr_expect(endpoint_lets(ep, 9, NOW + 2));
    calls_fini(&calls);
}

/* As long as it fails, its task is tried again: 8 attempts are not used up first. */
Test(calls, a_task_that_is_alone_outlives_the_breaker)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep = defined(&m);
    struct call_answer a = { .fault = CALL_TIMEOUT };
    unsigned cost = 0;
    msec_t now = NOW;

    for (unsigned i = 1; i <= 40; i++, now += 30000) {
        struct going_call *g;

        if (!endpoint_lets(ep, 0, now))
            continue;
        g = calls_begin(&calls, ep, i, now);
        g->step = CALL_SENT;
        calls_answered(g, &a, now, WALL);
        cr_assert_eq(g->verdict.kind, VERDICT_RETRY);
        cost += !g->verdict.spared && !g->verdict.excused;
        calls_end(&calls, g, now);
    }
    cr_expect_eq(cost, 4, "those before the one that opens it");
    calls_fini(&calls);
}

Test(calls, retry_after_holds_the_endpoint)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep = defined(&m);

    answered(ep, 429, "7", NOW);
    cr_expect_not(endpoint_lets(ep, 0, NOW + 6999));
    cr_expect_eq(endpoint_when(ep, 0, NOW), NOW + 7000);
    cr_expect_not(endpoint_lacks_share(ep, NOW + 6999));
    cr_expect(endpoint_lacks_share(ep, NOW + 7000));
    cr_expect(endpoint_lets(ep, 0, NOW + 7000));
    calls_fini(&calls);
}

Test(calls, an_open_breaker_spares_probes_and_is_followed_by_a_ramp)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep = defined(&m);
    struct call_answer down = { .fault = CALL_RESET };
    msec_t now = NOW + 20000;
    struct going_call *g;

    for (unsigned i = 0; i < 10; i++)
        answered(ep, 500, "", now);
    cr_expect(endpoint_is_down(ep));
    cr_expect_not(endpoint_lets(ep, 0, now + 4999));
    now += 5000;
    cr_assert(endpoint_lets(ep, 0, now));
    g = calls_begin(&calls, ep, 3, now);
    g->step = CALL_SENT;
    calls_answered(g, &down, now, WALL);
    cr_expect(g->verdict.excused, "a probe costs its task no attempt");
    calls_end(&calls, g, now);
    now += 10000;
    for (unsigned i = 0; i < 7; i++) {
        cr_assert(endpoint_lets(ep, 0, now));
        answered(ep, 200, "", now);
    }
    cr_expect_not(endpoint_is_down(ep));
    cr_expect_not(endpoint_lets(ep, 10, now), "on its ramp");
    calls_fini(&calls);
}

/* As the manager says it again, with another serial. */
static void says(struct msg_endpoint *m, msec_t now)
{
    m->serial++;
    cr_assert_eq(endpoints_define(&calls.endpoints, m, now), 0);
}

Test(calls, a_tripped_one_lets_nothing_go_until_its_reset)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep = defined(&m);
    msec_t now = NOW + 60000;

    cr_expect(endpoint_lets(ep, 50, now), "its ramp is over");
    for (unsigned i = 0; i < 9; i++)
        answered(ep, 500, "", now);
    answered(ep, 429, "3600", now);
    m.tripped = true;
    says(&m, now);
    now += 7200000;
    cr_expect(endpoint_is_down(ep));
    cr_expect_not(endpoint_lets(ep, 0, now));
    cr_expect_eq(endpoint_when(ep, 0, now), MSEC_NEVER);
    expect_eta(ep, 1, now, TASK_ETA_TRIPPED, -1);
    cr_expect_not(endpoint_lacks_share(ep, now));
    m.tripped = false;
    m.resets = 77;
    says(&m, now);
    cr_expect_not(endpoint_is_down(ep));
    cr_expect(endpoint_lets(ep, 0, now));
    cr_expect_not(endpoint_lets(ep, 50, now), "on its ramp");
    answered(ep, 500, "", now);
    cr_expect_not(endpoint_is_down(ep), "what failed before is forgotten");
    calls_fini(&calls);
}

Test(calls, a_reset_is_obeyed_once_and_ends_what_retry_after_said)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep = defined(&m);

    m.resets = 5;
    for (unsigned i = 0; i < 10; i++)
        answered(ep, 503, "600", NOW);
    cr_expect(endpoint_is_down(ep));
    says(&m, NOW);
    cr_expect(!endpoint_is_down(ep) && ep->held == 0);
    for (unsigned i = 0; i < 10; i++)
        answered(ep, 503, "600", NOW);
    says(&m, NOW); /* another share, say */
    cr_expect(endpoint_is_down(ep) && ep->held > NOW);
    m.resets = 0; /* a manager that knows none */
    says(&m, NOW);
    cr_expect(endpoint_is_down(ep));
    calls_fini(&calls);
}

/* The next call, ordered by hand, is answered so. */
static void by_hand(struct endpoint *ep, struct msg_endpoint *m, unsigned status, msec_t now)
{
    struct call_answer a = { .status = status, .ms = 12 };
    struct going_call *g;

    m->probe++;
    says(m, now);
    cr_assert(endpoint_probes(ep, 0, true, now));
    g = calls_begin(&calls, ep, 1, now);
    cr_assert(g->by_hand);
    cr_expect_eq(ep->hand.state, PROBE_SENT);
    g->step = CALL_SENT;
    calls_answered(g, &a, now, WALL);
    cr_expect(status == 200 || g->verdict.excused);
    calls_end(&calls, g, now);
    cr_expect(ep->hand.state == PROBE_ANSWERED && ep->hand.ms == 12 && ep->hand.no == m->probe);
}

Test(calls, a_probe_by_hand_goes_while_it_is_down)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep = defined(&m);
    msec_t now = NOW + 60000, until;

    for (unsigned i = 0; i < 10; i++)
        answered(ep, 500, "600", now);
    until = ep->breaker.until;
    by_hand(ep, &m, 500, now + 100);
    cr_expect_str_eq(ep->hand.said, "server_error");
    cr_expect(ep->breaker.state == BREAKER_OPEN && ep->breaker.until == until, "no longer than before");
    by_hand(ep, &m, 200, now + 200);
    cr_expect_str_eq(ep->hand.said, "succeeded");
    cr_expect_eq(ep->breaker.state, BREAKER_PROBES, "more may try");
    for (unsigned i = 0; i < 6; i++) {
        cr_assert(endpoint_lets(ep, 0, now + 600000));
        answered(ep, 200, "", now + 600000);
    }
    cr_expect_not(endpoint_is_down(ep));
    m.tripped = true;
    by_hand(ep, &m, 200, now + 700000);
    cr_expect(endpoint_is_down(ep) && !endpoint_lets(ep, 0, now + 800000), "the operator decides");
    calls_fini(&calls);
}

/* Also where its answer leaves the breaker as it is, so that nothing else spares the attempt. */
Test(calls, what_probes_is_excused_whatever_comes_of_the_breaker)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep = defined(&m);
    struct call_answer early = { .status = 408 };
    msec_t now = NOW + 60000;
    struct going_call *g;

    for (unsigned i = 0; i < 10; i++)
        answered(ep, 500, "", now);
    by_hand(ep, &m, 408, now + 100); /* it was there: no failure */
    cr_expect_eq(ep->breaker.state, BREAKER_PROBES);
    now += 5000;
    cr_assert(endpoint_lets(ep, 0, now));
    g = calls_begin(&calls, ep, 1, now);
    g->step = CALL_SENT;
    calls_answered(g, &early, now, WALL);
    cr_expect_eq(ep->breaker.state, BREAKER_PROBES);
    cr_expect(g->verdict.excused);
    calls_end(&calls, g, now);
    calls_fini(&calls);
}

Test(calls, a_probe_by_hand_that_sends_nothing_says_why)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep;
    msec_t now = NOW + 60000;
    struct going_call *g;

    m.probe = 7;
    ep = defined(&m);
    cr_expect_eq(ep->hand.state, PROBE_NONE, "an old order does nothing");
    m.probe++;
    says(&m, now);
    cr_expect_not(endpoint_probes(ep, 0, true, now));
    cr_expect_eq(ep->hand.state, PROBE_NO_NEED);
    m.tripped = true;
    m.probe++;
    says(&m, now);
    cr_expect_not(endpoint_probes(ep, 0, false, now));
    cr_expect_eq(ep->hand.state, PROBE_NO_TASK);
    m.probe++;
    says(&m, now);
    cr_expect_not(endpoint_probes(ep, m.max_concurrent, true, now));
    cr_expect_eq(ep->hand.state, PROBE_LIMITED);
    m.probe++;
    says(&m, now);
    cr_assert(endpoint_probes(ep, 0, true, now));
    g = calls_begin(&calls, ep, 1, now);
    calls_end(&calls, g, now);
    cr_expect_eq(ep->hand.state, PROBE_LOST);
    cr_expect_not(endpoint_probes(ep, 0, true, now), "once");
    m.paused = true;
    m.probe++;
    says(&m, now);
    cr_expect_not(endpoint_probes(ep, 0, true, now));
    cr_expect_eq(ep->hand.state, PROBE_PAUSED);
    calls_fini(&calls);
}

Test(calls, a_definition_changes_and_goes)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep = defined(&m);

    m.paused = true;
    cr_assert_eq(endpoints_define(&calls.endpoints, &m, NOW), 0);
    cr_expect(endpoint_lets(ep, 0, NOW), "the same serial");
    m.serial = 2;
    cr_assert_eq(endpoints_define(&calls.endpoints, &m, NOW), 0);
    cr_expect_not(endpoint_lets(ep, 0, NOW));
    endpoints_drop(&calls.endpoints, "gen");
    cr_expect_not(endpoint_lets(ep, 0, NOW));
    m.paused = false;
    cr_assert_eq(endpoints_define(&calls.endpoints, &m, NOW + 60000), 0);
    cr_expect(endpoint_lets(ep, 0, NOW + 60000));
    cr_expect_not(endpoint_lets(ep, 40, NOW + 60000), "as after a start");
    m.deadline_ms = 0;
    m.serial++;
    cr_expect_eq(endpoints_define(&calls.endpoints, &m, NOW), SQ_EINVAL);
    calls_fini(&calls);
}
