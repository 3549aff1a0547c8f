/* test_rng.c: the same seed, the same numbers; uniform; the right means. */
#include "common/base/rng.h"

#include "tests/lib/criterion.h"
#include <math.h>

Test(rng, known_answers)
{
    /* splitmix64 of seed 0, as published with it; xoshiro's first output from them */
    struct rng r;

    rng_seed(&r, 0);
    cr_expect_eq(r.s[0], 0xe220a8397b1dcdafu);
    cr_expect_eq(r.s[1], 0x6e789e6aa1b965f4u);
    cr_expect_eq(rng_u64(&r), 0x99ec5f36cb75f2b4u);
}

Test(rng, repeats_by_seed)
{
    struct rng a, b;

    rng_seed(&a, 5);
    rng_seed(&b, 5);
    for (unsigned i = 0; i < 100; i++)
        cr_assert_eq(rng_u64(&a), rng_u64(&b));
    rng_seed(&b, 6);
    cr_expect_neq(rng_u64(&a), rng_u64(&b));
}

Test(rng, below_is_uniform)
{
    unsigned count[10] = { 0 };
    struct rng r;

    rng_seed(&r, 1);
    for (unsigned i = 0; i < 100000; i++)
        count[rng_below(&r, 10)]++;
    for (unsigned i = 0; i < 10; i++)
        cr_expect(count[i] > 9600 && count[i] < 10400, "%u", count[i]);
    for (unsigned i = 0; i < 1000; i++) {
        cr_assert_eq(rng_below(&r, 1), 0);
        cr_assert_lt(rng_below(&r, 0xc000000000000000u), 0xc000000000000000u);
    }
}

Test(rng, means)
{
    double unit = 0, gap = 0;
    unsigned hits = 0;
    struct rng r;

    rng_seed(&r, 2);
    for (unsigned i = 0; i < 200000; i++) {
        double u = rng_unit(&r), e = rng_exp(&r, 3);

        cr_assert(u >= 0 && u < 1 && e >= 0 && isfinite(e));
        unit += u;
        gap += e;
        hits += rng_chance(&r, 0.25);
    }
    cr_expect_lt(fabs(unit / 200000 - 0.5), 0.005);
    cr_expect_lt(fabs(gap / 200000 - 3), 0.05);
    cr_expect_lt(fabs(hits / 200000.0 - 0.25), 0.005);
    cr_expect_not(rng_chance(&r, 0));
    cr_expect(rng_chance(&r, 1));
}
