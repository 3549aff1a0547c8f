/* test_pace.c: the plan keeps to the budget, spends it, and favours the front. */
#include "common/pace.h"

#include <criterion/criterion.h>
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
                struct pace p = pace_plan(waiting, budgets[b], lo, hi);
                double load = pace_load(&p, waiting), all = (double)waiting * 1000 / lo;

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
        struct pace p = pace_plan(waiting, 5, 1000, 600000);
        double load = pace_load(&p, waiting);

        cr_assert(load <= 5.001 && load >= 5 * 0.98, "%lu: %f", (unsigned long)waiting, load);
    }
}

Test(pace, formula_is_the_sum_over_places)
{
    for (uint64_t waiting = 10; waiting <= 1000000; waiting *= 10) {
        struct pace p = pace_plan(waiting, 2000, 500, 30000);
        double want = load_by_hand(&p, waiting), have = pace_load(&p, waiting);

        cr_assert_lt(fabs(have / want - 1), 0.002, "%f %f", have, want);
    }
}

Test(pace, intervals_grow_with_position)
{
    struct pace p = pace_plan(1000000, 20000, 1000, 60000);
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
    struct pace p = pace_plan(10000000, 20000, 1000, 60000);

    cr_expect_gt(p.max_ms, 60000);
    cr_expect_lt(p.max_ms, 700000); /* 500 s if all waited equally long */
    cr_expect_eq(pace_interval_ms(&p, 1), 1000);
    cr_expect_leq(pace_interval_ms(&p, 1000), 10000);
}

Test(pace, jitter_is_small_and_neutral)
{
    struct pace p = { .min_ms = 1000, .max_ms = 60000, .us_per_place = 1000 };
    double sum = 0;
    uint32_t lo = UINT32_MAX, hi = 0;

    for (uint32_t salt = 0; salt < 200000; salt++) {
        uint32_t ms = pace_jittered_ms(&p, 10000, salt);

        lo = ms < lo ? ms : lo;
        hi = ms > hi ? ms : hi;
        sum += ms;
    }
    cr_expect_lt(fabs(sum / 200000 / 10000 - 1), 0.001, "%f", sum / 200000);
    cr_expect(lo >= 9000 && lo < 9010, "%u", lo);
    cr_expect(hi <= 11000 && hi > 10990, "%u", hi);
}

Test(pace, nonsense_in_still_sense_out)
{
    struct pace p = pace_plan(1000, 0, 0, 0);

    cr_expect_geq(p.min_ms, 1);
    cr_expect_geq(p.max_ms, p.min_ms);
    p = pace_plan(0, 100, 1000, 60000);
    cr_expect_eq(pace_load(&p, 0), 0);
    p = pace_plan(UINT64_MAX, 1, 1000, 60000);
    cr_expect_gt(pace_jittered_ms(&p, UINT64_MAX, 7), 0);
}
