/* test_calls.c: what follows from an answer, when calls may go, and how they are signed. */
#define _GNU_SOURCE 1 /* memmem */
#include "task/calls/calls.h"

#include "tests/lib/criterion.h"
#include <sodium.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "task/calls/request.h"
#include "task/containers/rate.h"

#define NOW  ((msec_t)1000000)
#define WALL 784111777000 /* Sun, 06 Nov 1994 08:49:37 GMT */

/* ---- verdicts ---------------------------------------------------------------------- */

static struct verdict of_status(unsigned status, const char *command, const char *retry_after)
{
    struct call_answer a = { .status = status };

    copy_text(a.command, sizeof(a.command), command);
    copy_text(a.retry_after, sizeof(a.retry_after), retry_after);
    return verdict_of(&a, WALL);
}

Test(verdict, by_status)
{
    static const struct {
        unsigned status;
        enum verdict_kind kind;
        enum call_class class;
        bool spared, failed;
    } rows[] = {
        { 200, VERDICT_DONE, CLASS_SUCCEEDED, false, false },
        { 204, VERDICT_DONE, CLASS_SUCCEEDED, false, false },
        { 299, VERDICT_DONE, CLASS_SUCCEEDED, false, false },
        { 301, VERDICT_DEAD, CLASS_REDIRECT, false, false },
        { 304, VERDICT_DEAD, CLASS_REDIRECT, false, false },
        { 400, VERDICT_DEAD, CLASS_PERMANENT, false, false },
        { 404, VERDICT_DEAD, CLASS_PERMANENT, false, false },
        { 408, VERDICT_RETRY, CLASS_EARLY, false, false },
        { 410, VERDICT_DEAD, CLASS_GONE, false, false },
        { 425, VERDICT_RETRY, CLASS_EARLY, false, false },
        { 429, VERDICT_RETRY, CLASS_BUSY, true, true },
        { 500, VERDICT_RETRY, CLASS_BROKEN, false, true },
        { 503, VERDICT_RETRY, CLASS_BROKEN, false, true },
        { 599, VERDICT_RETRY, CLASS_BROKEN, false, true },
        { 700, VERDICT_DEAD, CLASS_PERMANENT, false, false },
    };

    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        struct verdict v = of_status(rows[i].status, "", "");

        cr_expect(v.kind == rows[i].kind && v.class == rows[i].class &&
                      v.spared == rows[i].spared && v.failed == rows[i].failed,
                  "%u", rows[i].status);
        cr_expect(v.kind != VERDICT_RETRY || v.delay_ms == -1, "as the back-off says");
    }
}

Test(verdict, a_command_goes_before_the_status)
{
    struct call_answer a = { .status = 489, .upstash = "true" };
    struct verdict v = of_status(503, "retry=7", "100");

    cr_expect(v.kind == VERDICT_RETRY && v.class == CLASS_ASKED && v.delay_ms == 7000);
    cr_expect_not(v.failed, "a target that says when is well");
    cr_expect_eq(of_status(200, "retry=0", "").kind, VERDICT_RETRY);
    cr_expect_eq(of_status(200, "Abort", "").class, CLASS_ABORTED);
    cr_expect_eq(of_status(500, "abort", "").kind, VERDICT_DEAD);
    cr_expect_eq(of_status(200, "retry=x", "").kind, VERDICT_DONE, "what is none says nothing");
    cr_expect_eq(verdict_of(&a, WALL).kind, VERDICT_DEAD);
    a = (struct call_answer){ .status = 500, .delivery = "abort-message" };
    cr_expect_eq(verdict_of(&a, WALL).kind, VERDICT_DEAD);
}

Test(verdict, a_202_may_go_on_for_some_time)
{
    struct verdict v = of_status(202, "Pending=600", "");

    cr_expect(v.kind == VERDICT_PENDING && v.class == CLASS_PENDING && v.delay_ms == 600000);
    cr_expect_not(v.failed);
    cr_expect_eq(of_status(202, "pending=999999999", "").delay_ms, PENDING_MAX_MS);
    cr_expect_eq(of_status(202, "pending=0", "").kind, VERDICT_DONE);
    cr_expect_eq(of_status(202, "pending=", "").kind, VERDICT_DONE);
    cr_expect_eq(of_status(200, "pending=600", "").kind, VERDICT_DONE, "it is done");
    cr_expect_eq(of_status(500, "pending=600", "").kind, VERDICT_RETRY);
}

Test(verdict, retry_after_is_seconds_or_a_date)
{
    cr_expect_eq(of_status(503, "", "120").least_ms, 120000);
    cr_expect_eq(of_status(503, "", "120").hold_ms, 120000);
    cr_expect_eq(of_status(500, "", "120").hold_ms, 0, "of one task");
    cr_expect_eq(of_status(500, "", "120").least_ms, 120000);
    cr_expect_eq(of_status(429, "", "Sun, 06 Nov 1994 08:50:37 GMT").hold_ms, 60000);
    cr_expect_eq(of_status(429, "", "Sun, 06 Nov 1994 08:00:00 GMT").hold_ms, 0, "it is over");
    cr_expect_eq(of_status(429, "", "99999999999999999999").hold_ms, HOLD_MAX_MS);
    for (const char *const *bad = (const char *const[]){ "-1", "1.5", "soon", "Sun, 06 Now 1994 08:50:37 GMT",
                                                         "Sun, 06 Nov 1994 08:50:37 EST", NULL };
         *bad != NULL; bad++)
        cr_expect_eq(of_status(503, "", *bad).least_ms, 0, "%s", *bad);
}

Test(verdict, no_answer_is_tried_again)
{
    for (unsigned f = CALL_NONE + 1; f < CALL_NFAULTS; f++) {
        struct call_answer a = { .fault = f };
        struct verdict v = verdict_of(&a, WALL);

        cr_expect_eq(v.kind, VERDICT_RETRY, "%s", call_fault_word(f));
        cr_expect_eq(v.spared, f != CALL_TIMEOUT && f != CALL_RESET && f != CALL_TOO_LONG, "%s",
                     call_fault_word(f));
        cr_expect_eq(v.failed, f != CALL_LOCAL && f != CALL_REFUSED, "%s: our own want is not the target's",
                     call_fault_word(f));
    }
}

/* ---- the breaker ------------------------------------------------------------------- */

static const struct breaker_rules rules = { 50, 20, 5000 };

static void ends(struct breaker *b, unsigned n, enum breaker_end how, msec_t now)
{
    for (unsigned i = 0; i < n; i++)
        breaker_ends(b, &rules, false, how, now);
}

Test(breaker, ten_failures_in_a_row_open_it)
{
    struct breaker b = { 0 };

    ends(&b, 9, END_FAILED, NOW);
    cr_expect(breaker_lets(&b, NOW));
    ends(&b, 1, END_WELL, NOW);
    ends(&b, 9, END_FAILED, NOW);
    cr_expect_eq(b.state, BREAKER_CLOSED, "18 of 19");
    ends(&b, 1, END_FAILED, NOW);
    cr_expect_eq(b.state, BREAKER_OPEN);
    cr_expect_not(breaker_lets(&b, NOW + 4999));
    cr_expect_eq(breaker_when(&b), NOW + 5000);
}

Test(breaker, five_failures_in_a_row_open_it_that_take_a_second)
{
    struct breaker b = { 0 };

    for (unsigned i = 0; i < 5; i++)
        ends(&b, 1, END_FAILED, NOW + i * 249);
    cr_expect_eq(b.state, BREAKER_CLOSED, "996 ms");
    ends(&b, 1, END_WELL, NOW + 1000);
    for (unsigned i = 0; i < 5; i++)
        ends(&b, 1, END_FAILED, NOW + 2000 + i * 250);
    cr_expect_eq(b.state, BREAKER_OPEN);
}

Test(breaker, half_of_twenty_in_ten_seconds_open_it)
{
    struct breaker b = { 0 };

    for (unsigned i = 0; i < 9; i++) {
        ends(&b, 1, END_FAILED, NOW);
        ends(&b, 1, END_WELL, NOW);
    }
    ends(&b, 1, END_FAILED, NOW + 10000);
    cr_expect_eq(b.state, BREAKER_CLOSED, "the others are too old");
    for (unsigned i = 0; i < 9; i++) {
        ends(&b, 1, END_WELL, NOW + 10000);
        ends(&b, 1, END_FAILED, NOW + 10000);
    }
    cr_expect_eq(b.state, BREAKER_CLOSED, "19");
    ends(&b, 1, END_FAILED, NOW + 10000);
    cr_expect_eq(b.state, BREAKER_OPEN);
}

Test(breaker, an_open_one_lets_some_try_by_the_clock_alone)
{
    struct breaker b = { 0 };

    cr_expect_eq(breaker_advance(&b, NOW), MSEC_NEVER);
    ends(&b, 10, END_FAILED, NOW);
    cr_expect_eq(breaker_advance(&b, NOW + 4999), NOW + 5000);
    cr_expect_eq(b.state, BREAKER_OPEN);
    cr_expect_eq(breaker_advance(&b, NOW + 5000), MSEC_NEVER);
    cr_expect_eq(b.state, BREAKER_PROBES);
}

static void probe(struct breaker *b, enum breaker_end how, msec_t now)
{
    cr_assert(breaker_lets(b, now));
    cr_assert(breaker_begins(b));
    breaker_ends(b, &rules, true, how, now);
}

Test(breaker, probes_go_one_two_four_and_close_it)
{
    struct breaker b = { 0 };

    ends(&b, 10, END_FAILED, NOW);
    cr_assert(breaker_lets(&b, NOW + 5000));
    cr_assert(breaker_begins(&b));
    cr_expect_not(breaker_lets(&b, NOW + 5000), "one at a time");
    ends(&b, 1, END_FAILED, NOW + 5001);
    cr_expect_eq(b.state, BREAKER_PROBES, "one that began before says nothing");
    breaker_ends(&b, &rules, true, END_WELL, NOW + 5002);
    probe(&b, END_WELL, NOW + 5003);
    probe(&b, END_WELL, NOW + 5004);
    for (unsigned i = 0; i < 4; i++) {
        cr_expect_eq(b.state, BREAKER_PROBES);
        probe(&b, END_WELL, NOW + 5005);
    }
    cr_expect_eq(b.state, BREAKER_CLOSED);
}

Test(breaker, each_time_it_is_open_for_twice_as_long)
{
    struct breaker b = { 0 };
    msec_t now = NOW;

    ends(&b, 10, END_FAILED, now);
    for (msec_t open = 5000; open < 60000; open *= 2) {
        cr_expect_eq(breaker_when(&b), now + open);
        now += open;
        probe(&b, END_FAILED, now);
    }
    cr_expect_eq(breaker_when(&b), now + 60000);
    now += 60000;
    probe(&b, END_FAILED, now);
    cr_expect_eq(breaker_when(&b), now + 60000, "no longer");
}

Test(breaker, one_of_which_nobody_knows_is_followed_by_another)
{
    struct breaker b = { 0 };

    ends(&b, 10, END_FAILED, NOW);
    probe(&b, END_UNKNOWN, NOW + 5000);
    probe(&b, END_WELL, NOW + 5000);
    cr_expect_eq(b.allowed, 2);
}

/* ---- the budget -------------------------------------------------------------------- */

Test(budget, three_at_once_and_a_fifth_of_first_attempts)
{
    struct budget b;

    budget_init(&b, NOW);
    for (unsigned i = 0; i < 3; i++)
        cr_expect_eq(budget_retry(&b, NOW), 0);
    cr_expect_geq(budget_retry(&b, NOW), 3000, "three in 10 s");
    for (unsigned i = 0; i < 1000; i++)
        budget_first(&b, NOW + 10);
    cr_expect_eq(budget_retry(&b, NOW + 10), 0);
}

Test(budget, over_a_long_time_no_more_than_it_says)
{
    struct budget b;
    unsigned at_once = 0, waited = 0;

    budget_init(&b, NOW);
    for (unsigned s = 0; s < 100; s++)
        for (unsigned i = 0; i < 100; i++) { /* each fails */
            budget_first(&b, NOW + s * 1000);
            if (budget_retry(&b, NOW + s * 1000) == 0)
                at_once++;
            else
                waited++;
        }
    cr_expect_leq(at_once, 10000 / BUDGET_PER + 100 * BUDGET_LEAST / 10 + BUDGET_LEAST);
    cr_expect_gt(waited, 7000);
}

/* ---- an endpoint ------------------------------------------------------------------- */

static struct calls calls;

static struct msg_endpoint gen(uint64_t serial)
{
    return (struct msg_endpoint){ .epoch = 1, .name = "gen", .serial = serial, .url = "http://gen",
                                  .rate = ENDPOINT_ANY, .burst = 1, .max_concurrent = 64,
                                  .deadline_ms = 30000, .connect_timeout_ms = 3000,
                                  .breaker_ratio = 50, .breaker_min = 20, .breaker_open_ms = 5000,
                                  .secret_file = "", .ca_file = "", .cert_file = "",
                                  .key_file = "", .proxy = "", .budget = "" };
}

static struct endpoint *defined(const struct msg_endpoint *m)
{
    struct endpoint *ep;

    calls_init(&calls);
    log_set_level(LOG_ERROR);
    cr_assert_eq(calls_define(&calls, m, NOW), 0);
    ep = calls_find(&calls, "gen");
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

/* ---- how many it bears ------------------------------------------------------------- */

static const struct adaptive_rules four_to_64 = { 4, 64 };

/* n answers of so many ms, as many at once as may be; `now` goes on with them. */
static void answers_take(struct adaptive *a, unsigned n, uint32_t ms, msec_t *now)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t at_once = adaptive_limit(a, &four_to_64);

        *now += 1 + ms / (msec_t)at_once;
        adaptive_well(a, &four_to_64, ms, at_once, *now);
    }
}

Test(adaptive, it_begins_at_its_least_and_rises_while_answers_come_as_fast)
{
    struct adaptive a = { 0 };
    msec_t now = NOW;
    uint64_t then;

    cr_expect_eq(adaptive_limit(&a, &four_to_64), 4);
    answers_take(&a, 500, 100, &now);
    then = adaptive_limit(&a, &four_to_64);
    cr_expect(then > 10 && then < 64, "%lu", (unsigned long)then);
    answers_take(&a, 5000, 100, &now);
    cr_expect_eq(adaptive_limit(&a, &four_to_64), 64);
}

Test(adaptive, it_falls_while_they_take_longer)
{
    struct adaptive a = { 0 };
    msec_t now = NOW;
    uint64_t last = 64;

    answers_take(&a, 5000, 100, &now);
    answers_take(&a, 200, 140, &now);
    cr_expect_eq(adaptive_limit(&a, &four_to_64), 64, "1.4 times as long is no queue");
    for (unsigned i = 0; i < 5; i++, last = adaptive_limit(&a, &four_to_64)) {
        answers_take(&a, 64, 1000, &now);
        cr_expect_lt(adaptive_limit(&a, &four_to_64), last);
    }
    cr_expect_geq(last, 4);
}

Test(adaptive, it_stays_while_it_is_not_what_binds)
{
    struct adaptive a = { 0 };

    for (unsigned i = 0; i < 1000; i++)
        adaptive_well(&a, &four_to_64, 100, 1, NOW + i * 100);
    cr_expect_eq(adaptive_limit(&a, &four_to_64), 4);
}

Test(adaptive, what_fails_cuts_it_once_in_the_time_of_an_answer)
{
    struct adaptive a = { 0 };
    msec_t now = NOW;

    answers_take(&a, 5000, 100, &now);
    for (unsigned i = 0; i < 30; i++)
        adaptive_too_much(&a, &four_to_64, now);
    cr_expect_eq(adaptive_limit(&a, &four_to_64), 57);
    adaptive_too_much(&a, &four_to_64, now + 99);
    cr_expect_eq(adaptive_limit(&a, &four_to_64), 57);
    adaptive_too_much(&a, &four_to_64, now + 101);
    cr_expect_eq(adaptive_limit(&a, &four_to_64), 51);
    for (unsigned i = 0; i < 100; i++)
        adaptive_too_much(&a, &four_to_64, now + 1000 * i);
    cr_expect_eq(adaptive_limit(&a, &four_to_64), 4, "never below its least");
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
    cr_assert_eq(calls_define(&calls, m, now), 0);
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
    cr_assert_eq(calls_define(&calls, &m, NOW), 0);
    cr_expect(endpoint_lets(ep, 0, NOW), "the same serial");
    m.serial = 2;
    cr_assert_eq(calls_define(&calls, &m, NOW), 0);
    cr_expect_not(endpoint_lets(ep, 0, NOW));
    calls_drop(&calls, "gen");
    cr_expect_not(endpoint_lets(ep, 0, NOW));
    m.paused = false;
    cr_assert_eq(calls_define(&calls, &m, NOW + 60000), 0);
    cr_expect(endpoint_lets(ep, 0, NOW + 60000));
    cr_expect_not(endpoint_lets(ep, 40, NOW + 60000), "as after a start");
    m.deadline_ms = 0;
    m.serial++;
    cr_expect_eq(calls_define(&calls, &m, NOW), SQ_EINVAL);
    calls_fini(&calls);
}

/* ---- fields, signatures ------------------------------------------------------------ */

static struct sign_keys keys_of(const char *text)
{
    struct sign_keys k;
    unsigned line;
    const char *why = sign_keys_read(&k, text, strlen(text), &line);

    cr_assert_null(why, "line %u: %s", line, why);
    return k;
}

/* Of the libraries of standardwebhooks.com. */
Test(sign, a_known_signature)
{
    struct sign_keys k = keys_of("# made today\n\n whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw \r\n");
    static const char body[] = "{\"test\": 2432232314}";
    struct buf b;

    buf_init(&b);
    sign_append(&k, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, (const uint8_t *)body,
                strlen(body), &b);
    buf_byte(&b, 0);
    cr_expect_str_eq((const char *)b.data, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    buf_fini(&b);
}

Test(sign, old_and_new_key_and_one_of_ed25519)
{
    uint8_t seed[32] = { 1 }, public[32], secret[64], sig[64];
    char text[200] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\nwhsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\nwhsk_";
    size_t len = strlen(text), n;
    struct sign_keys k;
    struct buf b;
    const char *v1a;

    sodium_bin2base64(text + len, sizeof(text) - len, seed, 32, sodium_base64_VARIANT_ORIGINAL);
    k = keys_of(text);
    buf_init(&b);
    sign_append(&k, "id", 1, (const uint8_t *)"body", 4, &b);
    buf_byte(&b, 0);
    cr_expect_eq(strncmp((char *)b.data, "v1,", 3), 0);
    cr_expect_not_null(strstr((char *)b.data, " v1,"));
    v1a = strstr((char *)b.data, " v1a,");
    cr_assert_not_null(v1a);
    cr_assert_eq(sodium_base642bin(sig, 64, v1a + 5, strlen(v1a + 5), NULL, &n, NULL,
                                   sodium_base64_VARIANT_ORIGINAL), 0);
    crypto_sign_seed_keypair(public, secret, seed);
    cr_expect_eq(crypto_sign_verify_detached(sig, (const uint8_t *)"id.1.body", 9, public), 0);
    buf_fini(&b);
}

Test(sign, what_is_no_key_is_said_with_its_line)
{
    static const struct {
        const char *text;
        unsigned line;
    } bad[] = {
        { "", 0 }, { "# none\n", 1 }, { "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 1 },
        { "\nwhsec_MfKQ", 2 }, { "whsec_*", 1 }, { "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 1 },
    };
    struct sign_keys k;
    unsigned line;

    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_not_null(sign_keys_read(&k, bad[i].text, strlen(bad[i].text), &line));
        cr_expect_eq(line, bad[i].line, "%s", bad[i].text);
    }
}

static bool has(const struct buf *b, const char *line)
{
    return memmem(b->data, b->len, line, strlen(line) + 1) != NULL;
}

static struct call_span span(const char *s)
{
    return (struct call_span){ s, strlen(s) };
}

Test(request, fields_of_the_caller_and_ours)
{
    struct request_facts f = { .task = "3-17", .queue = "img/a", .attempt = 1, .due_ms = 5,
                               .now_ms = 7999, .public_url = "", .right = "M0" };
    struct sign_keys k = keys_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    struct buf form, b;
    struct call c;

    buf_init(&form);
    buf_init(&b);
    call_pack_begin(&form, span("POST"), span("/x"));
    call_pack_header(&form, span("traceparent"), span("00-1"));
    call_pack_header(&form, span("User-Agent"), span("theirs"));
    call_pack_body(&form, span("{}"));
    cr_assert_eq(call_unpack(form.data, form.len, &c), 0);
    request_fields(&c, &f, &b);
    cr_expect(has(&b, "traceparent: 00-1") && has(&b, "User-Agent: theirs"));
    cr_expect_not(has(&b, "user-agent: segq/1"), "the caller's counts");
    cr_expect(has(&b, "idempotency-key: 3-17") && has(&b, "segq-task: 3-17"));
    cr_expect(has(&b, "segq-queue: img/a") && has(&b, "segq-attempt: 1") && has(&b, "segq-due: 5"));
    cr_expect_not(has(&b, "segq-redelivered: 1"));
    cr_expect(has(&b, "segq-complete-url: /v1/tasks/M0/complete"));
    f.attempt = 2;
    f.public_url = "https://queue.example.com";
    f.keys = &k;
    buf_reset(&b);
    request_fields(&c, &f, &b);
    cr_expect(has(&b, "segq-redelivered: 1") && has(&b, "webhook-id: 3-17") &&
              has(&b, "webhook-timestamp: 7"));
    cr_expect(has(&b, "segq-complete-url: https://queue.example.com/v1/tasks/M0/complete"));
    buf_fini(&form);
    buf_fini(&b);
}
