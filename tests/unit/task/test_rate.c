/* test_rate.c: never more than burst + rate * w in any window, and not much less. */
#include "task/containers/rate.h"

#include "tests/lib/criterion.h"

#include "common/base/rng.h"
#include "task/engine/pool.h"

#define START ((msec_t)1780000000000)

struct seen { /* the bucket, as somebody outside counts it */
    double level, per_ms, burst;
    msec_t at;
};

static void count(struct seen *s, msec_t now)
{
    s->level += (double)(now - s->at) * s->per_ms;
    s->level = s->level > s->burst ? s->burst : s->level;
    s->at = now;
    s->level -= 1;
    cr_assert_geq(s->level, -1e-6, "more than burst + rate * w in a window");
}

Test(rate, any_window_has_at_most_burst_and_its_share)
{
    static const double rates[] = { 0.1, 1, 3, 7.5, 99, 1000, 33333 };

    for (unsigned i = 0; i < ARRAY_LEN(rates); i++)
        for (uint32_t burst = 1; burst <= 64; burst *= 4) {
            struct rate r = rate_make(rates[i], burst);
            struct seen s = { burst, rates[i] / 1000, burst, START };
            struct rng g;
            int64_t tat = 0;
            uint64_t n = 0;
            msec_t now = START, span = (msec_t)(200 * 1000 / rates[i]) + 2000;

            rng_seed(&g, i * 100 + burst);
            for (; now < START + span; now += (msec_t)rng_below(&g, 3))
                while (rate_lets(&r, tat, now)) {
                    tat = rate_pass(&r, tat, now);
                    count(&s, now);
                    n++;
                }
            if (burst >= 1 + rates[i] * 0.002) /* what a gap of the loop cannot take away */
                cr_expect_geq((double)n, (double)span * rates[i] / 1000 - 1);
        }
}

Test(rate, an_empty_bucket_lets_the_first_pass_after_one_interval)
{
    struct rate r = rate_make(10, 5);
    int64_t tat = rate_empty(&r, START);

    cr_expect_not(rate_lets(&r, tat, START));
    cr_expect_not(rate_lets(&r, tat, START + 99));
    cr_expect(rate_lets(&r, tat, START + 100));
    cr_expect_eq(rate_when(&r, tat), START + 100);
    cr_expect_eq(rate_full_at(tat), START + 500);
}

Test(rate, when_says_the_first_moment)
{
    struct rate r = rate_make(3, 2); /* 333.3 ms */
    int64_t tat = rate_pass(&r, rate_pass(&r, 0, START), START);

    cr_expect_not(rate_lets(&r, tat, rate_when(&r, tat) - 1));
    cr_expect(rate_lets(&r, tat, rate_when(&r, tat)));
    cr_expect_eq(rate_when(&r, tat), START + 334);
}

Test(rate, none_lets_all_pass)
{
    struct rate r = rate_make(0, 9);

    cr_expect(rate_lets(&r, INT64_MAX - 5, START));
    cr_expect_eq(rate_pass(&r, 0, START), START * RATE_NS);
}

Test(rate, a_bucket_keeps_what_it_has_under_another_rate)
{
    struct rate fast = rate_make(100, 10), slow = rate_make(1, 10), narrow = rate_make(1, 1);
    struct rate none = rate_make(0, 1);
    int64_t tat = rate_empty(&fast, 1000);

    tat = rate_keeps(&slow, &fast, tat, 1055); /* five and a half are in it */
    for (unsigned i = 0; i < 5; i++) {
        cr_expect(rate_lets(&slow, tat, 1055));
        tat = rate_pass(&slow, tat, 1055);
    }
    cr_expect_not(rate_lets(&slow, tat, 1055));
    cr_expect_eq(rate_when(&slow, tat), 1555);
    tat = rate_keeps(&narrow, &fast, 0, 5000);
    tat = rate_pass(&narrow, tat, 5000);
    cr_expect_not(rate_lets(&narrow, tat, 5000), "no more than goes into it");
    tat = rate_keeps(&slow, &none, 0, 5000);
    cr_expect_not(rate_lets(&slow, tat, 5000), "without a limit before it is empty");
    tat = rate_pass(&fast, rate_empty(&fast, 9000), 9000); /* beyond the limit */
    tat = rate_keeps(&slow, &fast, tat, 9000);
    cr_expect_eq(rate_when(&slow, tat), 10000, "empty at worst");
}

Test(backoff, doubles_to_its_bounds)
{
    struct backoff b = { 1000, 60000, 3, 0 };

    cr_expect_eq(backoff_ms(&b, 1, 7), 1000);
    cr_expect_eq(backoff_ms(&b, 2, 7), 2000);
    cr_expect_eq(backoff_ms(&b, 4, 7), 8000);
    cr_expect_eq(backoff_ms(&b, 60, 7), 8000, "three doublings");
    b.doublings = 30;
    cr_expect_eq(backoff_ms(&b, 60, 7), 60000);
    cr_expect_eq(backoff_ms(&b, 0, 7), 1000);
}

Test(backoff, jitter_is_never_shorter_and_spreads)
{
    struct backoff b = { 1000, 60000, 8, 20 };
    msec_t least = 1 << 30, most = 0;

    for (uint64_t salt = 0; salt < 1000; salt++) {
        msec_t ms = backoff_ms(&b, 1, salt);

        least = ms_min(least, ms);
        most = ms_max(most, ms);
    }
    cr_expect_geq(least, 1000);
    cr_expect_leq(most, 1200);
    cr_expect_lt(least, 1010);
    cr_expect_gt(most, 1190);
}
