/* test_pace.c: the plan keeps to the budget, spends it, and favours the front. */
#include "common/ticket/pace.h"

#include "tests/lib/criterion.h"
#include <math.h>

/* The load, place by place, as it will really be told. */
static double load_by_hand(const struct pace *p, uint64_t waiting)
{
    double sum = 0;

    for (uint64_t i = 1; i <= waiting; i++)
        sum += 1000.0 / pace_interval_ms(p, i);
    return sum;
}

Test(pace, budget_is_spent_but_not_exceeded)
{
    static const uint32_t budgets[] = { 1, 50, 1000, 20000, 300000, 5000000 };
    static const uint32_t bounds[][2] = { { 1000, 60000 }, { 250, 5000 }, { 2000, 2000 },
                                          { 100, 3600000 } };

    for (uint64_t waiting = 10; waiting <= 100000000; waiting = waiting * 3 + 1)
        for (unsigned b = 0; b < ARRAY_LEN(budgets); b++)
            for (unsigned k = 0; k < ARRAY_LEN(bounds); k++) {
                uint32_t lo = bounds[k][0], hi = bounds[k][1];
                struct pace p = pace_plan(waiting, 0, budgets[b], lo, hi);
                double load = pace_load(&p, waiting, 0), all = (double)waiting * 1000 / lo;

                cr_assert_eq(p.min_ms, lo);
                cr_assert_geq(p.max_ms, lo);
                if (p.max_ms == (uint32_t)1 << 31)
                    continue; /* a day per poll is not enough: nothing to be had */
                cr_assert_leq(load, budgets[b] * 1.0001);
                if (all <= budgets[b])
                    cr_assert_eq(p.us_per_place, 0);
                else if (waiting >= 1000) /* few people move it in big steps */
                    cr_assert_geq(load, budgets[b] * 0.98, "%lu waiting, budget %u, %u..%u",
                                  (unsigned long)waiting, budgets[b], lo, hi);
            }
}

Test(pace, few_waiters_within_the_step_of_one)
{
    for (uint64_t waiting = 10; waiting < 1000; waiting += 7) {
        struct pace p = pace_plan(waiting, 0, 5, 1000, 600000);
        double load = pace_load(&p, waiting, 0);

        cr_assert(load <= 5.001 && load >= 5 * 0.98, "%lu: %f", (unsigned long)waiting, load);
    }
}

Test(pace, formula_is_the_sum_over_places)
{
    for (uint64_t waiting = 10; waiting <= 1000000; waiting *= 10) {
        struct pace p = pace_plan(waiting, 0, 2000, 500, 30000);
        double want = load_by_hand(&p, waiting), have = pace_load(&p, waiting, 0);

        cr_assert_lt(fabs(have / want - 1), 0.002, "%f %f", have, want);
    }
}

Test(pace, intervals_grow_with_position)
{
    struct pace p = pace_plan(1000000, 0, 20000, 1000, 60000);
    uint32_t last = 0;

    for (uint64_t i = 1; i <= 1000000; i++) {
        uint32_t ms = pace_interval_ms(&p, i);

        cr_assert_geq(ms, last);
        last = ms;
    }
    cr_expect_eq(pace_interval_ms(&p, 1), 1000);
    cr_expect_eq(pace_interval_ms(&p, 0), 1000);
    cr_expect_eq(last, p.max_ms);
    cr_expect_eq(pace_interval_ms(&p, UINT64_MAX), p.max_ms);
}

Test(pace, stretched_maximum_leaves_the_front_quick)
{
    struct pace p = pace_plan(10000000, 0, 20000, 1000, 60000);

    cr_expect_gt(p.max_ms, 60000);
    cr_expect_lt(p.max_ms, 700000); /* 500 s if all waited equally long */
    cr_expect_eq(pace_interval_ms(&p, 1), 1000);
    cr_expect_leq(pace_interval_ms(&p, 1000), 10000);
}

/* Mean of 200 000 jittered intervals of the place, and their ends, by what is meant. */
static void spread(const struct pace *p, uint64_t place, double *mean, double *lo,
                   double *hi)
{
    double sum = 0, meant = pace_interval_ms(p, place);

    *lo = 1e9;
    *hi = 0;
    for (uint32_t salt = 0; salt < 200000; salt++) {
        double ms = pace_jittered_ms(p, place, salt);

        *lo = fmin(*lo, ms / meant);
        *hi = fmax(*hi, ms / meant);
        sum += ms;
    }
    *mean = sum / 200000 / meant;
}

Test(pace, jitter_is_neutral_and_grows_with_the_interval)
{
    struct pace p = { .min_ms = 1000, .max_ms = 60000, .us_per_place = 1000 };
    static const struct {
        uint64_t place;
        double ends;
    } want[] = { { 1, 0.1 }, { 2000, 0.1 }, { 6000, 0.3 }, { 10000, 0.5 }, { 90000, 0.5 } };

    for (unsigned i = 0; i < ARRAY_LEN(want); i++) {
        double mean, lo, hi, ends = want[i].ends;

        spread(&p, want[i].place, &mean, &lo, &hi);
        cr_expect_lt(fabs(mean - 1), 0.002, "%f", mean);
        cr_expect(lo >= 1 - ends && lo < 1 - ends + 0.002, "%f", lo);
        cr_expect(hi <= 1 + ends && hi > 1 + ends - 0.002, "%f", hi);
        cr_expect_leq(hi * pace_interval_ms(&p, want[i].place), pace_longest_ms(&p));
    }
}

Test(pace, nobody_is_told_more_than_max_unless_the_budget_demands)
{
    static const uint32_t bounds[][2] = { { 1000, 30000 }, { 250, 5000 }, { 100, 2300 },
                                          { 1000, 3600000 } };

    for (unsigned k = 0; k < ARRAY_LEN(bounds); k++) {
        uint32_t lo = bounds[k][0], hi = bounds[k][1];
        struct pace p = pace_plan((uint64_t)(hi / 1.6), 0, 1000, lo, hi);

        cr_expect_leq(pace_longest_ms(&p), hi, "%u..%u: %u", lo, hi, pace_longest_ms(&p));
        p = pace_plan(3ull * hi, 0, 1000, lo, hi);
        cr_expect_gt(p.max_ms, hi);
    }
}

/* The longest that is told at any place ends before its turn comes, but for the minimum. */
Test(pace, a_released_ticket_is_not_called_asleep)
{
    static const double rates[] = { 1, 50, 1000, 2500 };

    for (unsigned i = 0; i < ARRAY_LEN(rates); i++) {
        struct pace p = pace_plan(1000000, rates[i], 20000, 1000, 30000);
        struct pace still = pace_plan(1000000, 0, 20000, 1000, 30000);

        cr_expect_leq(p.us_per_place, still.us_per_place);
        cr_expect_leq(pace_load(&p, 1000000, rates[i]), 20000);
        cr_expect_geq(pace_load(&p, 1000000, rates[i]), 20000 * 0.98);
        for (uint64_t place = 1; place <= 1000000; place += 99) {
            double turn_ms = (double)place * 1000 / rates[i];
            double ms = pace_interval_ms(&p, place) * (place > 2000 * rates[i] ? 1.5 : 1.1);

            cr_expect(ms <= 1100 || ms <= turn_ms * 1.002, "%g/s: place %lu is told %g ms, "
                      "its turn comes in %g", rates[i], (unsigned long)place, ms, turn_ms);
        }
    }
}

Test(pace, a_rate_above_the_budget_still_keeps_the_budget)
{
    struct pace p = pace_plan(1000000, 50000, 1000, 1000, 30000);

    cr_expect_leq(pace_load(&p, 1000000, 50000), 1000);
    cr_expect_gt(pace_load(&p, 1000000, 50000), 500);
}

Test(pace, nonsense_in_still_sense_out)
{
    struct pace p = pace_plan(1000, 0, 0, 0, 0);

    cr_expect_geq(p.min_ms, 1);
    cr_expect_geq(p.max_ms, p.min_ms);
    p = pace_plan(0, 0, 100, 1000, 60000);
    cr_expect_eq(pace_load(&p, 0, 0), 0);
    p = pace_plan(UINT64_MAX, 0, 1, 1000, 60000);
    cr_expect_gt(pace_jittered_ms(&p, UINT64_MAX, 7), 0);
}

/* People of one node that is away, each of whom asks again when it was told to: the mean of the last
 * half. */
static uint32_t refused_per_s(uint32_t people, unsigned seconds, uint32_t *most_s)
{
    struct put_off p = { 0 };
    static uint32_t due[64]; /* by second modulo 64 */
    uint32_t n, sum = 0;

    memset(due, 0, sizeof(due));
    due[0] = people;
    for (unsigned s = 0; s < seconds; s++) {
        n = due[s % 64];
        due[s % 64] = 0;
        sum += s >= seconds / 2 ? n : 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t wait_s = put_off_s(&p, 1000 + 1000 * (msec_t)s, s * 7919 + i);

            *most_s = wait_s > *most_s ? wait_s : *most_s;
            due[(s + wait_s) % 64]++;
        }
    }
    return sum / (seconds - seconds / 2);
}

Test(pace, a_few_that_are_refused_are_told_a_second)
{
    uint32_t most_s = 0;

    cr_expect_eq(refused_per_s(PUT_OFF_PER_S, 60, &most_s), PUT_OFF_PER_S);
    cr_expect_eq(most_s, 1);
}

Test(pace, many_that_are_refused_are_spread)
{
    for (uint32_t people = 2000; people <= 8000; people += 1000) {
        uint32_t most_s = 0, per_s = refused_per_s(people, 300, &most_s);

        cr_expect(per_s < 1.5 * PUT_OFF_PER_S && per_s > 0.7 * PUT_OFF_PER_S, "%u people: %u a second", people, per_s);
        cr_expect_leq(most_s, PUT_OFF_MOST_S);
    }
}

Test(pace, a_crowd_that_is_refused_is_told_no_more_than_a_rebuild_waits)
{
    uint32_t most_s = 0, per_s = refused_per_s(100000, 120, &most_s);

    cr_expect_eq(most_s, PUT_OFF_MOST_S);
    cr_expect_leq(per_s, 100000 / 7);
}

Test(pace, after_a_quiet_time_a_refusal_is_a_second_again)
{
    struct put_off p = { 0 };

    for (uint32_t i = 0; i < 50000; i++)
        put_off_s(&p, 1000 + i / 10, i);
    put_off_s(&p, 60000, 1); /* of the long second before */
    for (uint32_t i = 0; i < 100; i++)
        cr_expect_eq(put_off_s(&p, 61000 + i, i), 1);
}
