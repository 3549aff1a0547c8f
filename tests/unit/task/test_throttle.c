/* test_throttle.c: what lets the calls of an endpoint go: its breaker, its retry budget, and how many
 * it bears at once. */
#include "task/calls/throttle.h"

#include "tests/lib/criterion.h"

#define NOW ((msec_t)1000000)

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
    cr_expect_not(breaker_would_let(&b, NOW + 4999));
    cr_expect(breaker_would_let(&b, NOW + 5000));
    cr_expect_eq(b.state, BREAKER_OPEN, "a question changes nothing");
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
