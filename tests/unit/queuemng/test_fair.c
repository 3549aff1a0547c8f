/* test_fair.c: what is divided among those who want different amounts of it. */
#include "queuemng/policy/claim.h"

#include "tests/lib/criterion.h"

#include "common/base/rng.h"

static struct fair v[8];

static void want(size_t i, uint64_t wants, uint64_t weight)
{
    v[i] = (struct fair){ .wants = wants, .least = 1, .weight = weight };
}

Test(fair, what_one_does_not_want_goes_to_the_others)
{
    want(0, 1000, 1);
    want(1, 0, 1);
    want(2, 10, 1);
    want(3, 1000, 1);
    fair_divide(v, 4, 64);
    cr_expect_eq(v[0].part, 27);
    cr_expect_eq(v[1].part, 1, "the least");
    cr_expect_eq(v[2].part, 10);
    cr_expect_eq(v[3].part, 26, "of what is left the first has more");
}

Test(fair, what_nobody_wants_is_there_for_all)
{
    want(0, 10, 1);
    want(1, 0, 1);
    fair_divide(v, 2, 64);
    cr_expect_eq(v[0].part, 37);
    cr_expect_eq(v[1].part, 27);
}

Test(fair, weights_count_among_those_who_want_more)
{
    want(0, 1000, 4);
    want(1, 1000, 1);
    want(2, 5, 100);
    for (unsigned i = 0; i < 3; i++)
        v[i].least = 0;
    fair_divide(v, 3, 505);
    cr_expect(v[0].part == 400 || v[0].part == 401);
    cr_expect_eq(v[0].part + v[1].part, 500);
    cr_expect_eq(v[2].part, 5);
}

Test(fair, of_too_few_the_first_have_one)
{
    for (unsigned i = 0; i < 4; i++)
        want(i, 9, 1);
    fair_divide(v, 4, 2);
    cr_expect(v[0].part == 1 && v[1].part == 1 && v[2].part == 0 && v[3].part == 0);
    fair_divide(v, 4, 0);
    cr_expect_eq(v[0].part, 0);
    fair_divide(v, 0, 5);
}

Test(fair, parts_stay_while_they_are_nearly_right)
{
    want(0, 1000, 1);
    want(1, 20, 1);
    v[0].has = 80;
    v[1].has = 20;
    v[1].wants = 22;
    fair_divide(v, 2, 100);
    cr_expect_eq(v[1].part, 20, "an eighth is near enough");
    v[1].wants = 24;
    fair_divide(v, 2, 100);
    cr_expect_eq(v[1].part, 24);
    v[1].wants = 20;
    fair_divide(v, 2, 99);
    cr_expect_eq(v[0].part, 79, "the whole has changed");
}

/* Nobody could have more of what is wanted without taking it from one who has less by weight. */
Test(fair, is_max_min_fair_whatever_is_wanted)
{
    struct rng r;

    rng_seed(&r, 1);
    for (unsigned turn = 0; turn < 20000; turn++) {
        size_t n = 1 + rng_below(&r, 8);
        uint64_t whole = rng_below(&r, turn % 2 == 0 ? 20 : 100000), sum = 0;

        for (size_t i = 0; i < n; i++) {
            want(i, rng_below(&r, 3) == 0 ? 0 : rng_below(&r, 2 * whole + 1), 1 + rng_below(&r, 5));
            v[i].least = 0;
        }
        fair_divide(v, n, whole);
        for (size_t i = 0; i < n; i++) {
            sum += v[i].part;
            for (size_t k = 0; k < n; k++)
                cr_assert(v[i].part >= v[i].wants || v[k].part == 0 ||
                          v[k].part - 1 <= (v[i].part + 1) * v[k].weight / v[i].weight + n,
                          "turn %u: %zu wants %lu, has %lu; %zu has %lu", turn, i, v[i].wants,
                          v[i].part, k, v[k].part);
        }
        cr_assert_eq(sum, whole, "turn %u", turn);
    }
}
