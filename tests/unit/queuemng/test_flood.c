/* test_flood.c: when joins begin and cease to cost work, by how many come. */
#include "tests/lib/criterion.h"

#include "common/base/rng.h"
#include "queuemng/policy/joins.h"

static struct flood f;
static int64_t wall_ms;

static void begin(void)
{
    f = (struct flood){ 0 };
    wall_ms = 1000000;
}

TestSuite(flood, .init = begin);

static unsigned one(uint64_t joins, enum challenge_mode mode, uint64_t from)
{
    f.came = joins;
    wall_ms += 1000;
    (void)!flood_second(&f, mode, from, wall_ms);
    return f.level;
}

/* Of two in a row, which are no chance of the clocks. */
static unsigned second(uint64_t joins, enum challenge_mode mode, uint64_t from)
{
    (void)one(joins, mode, from);
    return one(joins, mode, from);
}

Test(flood, on_at_once_off_after_half_a_minute_below_half)
{
    cr_expect_eq(second(199, CHALLENGE_AUTO, 200), 0);
    cr_expect_eq(second(200, CHALLENGE_AUTO, 200), 1);
    cr_expect_eq(f.why, FLOOD_JOINS);
    cr_expect_eq(f.since_ms, wall_ms);
    cr_expect_eq(f.began_per_s, 200);
    for (int i = 0; i < 100; i++)
        cr_assert_eq(one(101, CHALLENGE_AUTO, 200), 1, "above half it stays");
    for (int i = 0; i < FLOOD_CALM_S; i++)
        cr_assert_eq(one(99, CHALLENGE_AUTO, 200), 1, "%d", i);
    cr_expect_eq(one(99, CHALLENGE_AUTO, 200), 0);
    cr_expect_eq(f.why, FLOOD_CALM);
}

/* A manager's second with two of a router's, or none: at 130 joins a second it is 200 that turn it on. */
Test(flood, a_second_of_ours_with_two_of_a_router_is_no_flood)
{
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(one(i % 7 == 0 ? 260 : 130, CHALLENGE_AUTO, 200), 0, "%d", i);
        cr_assert_eq(f.per_s, i == 0 ? 0 : 130);
    }
    cr_expect_eq(second(200, CHALLENGE_AUTO, 200), 1);
    for (int i = 0; i < 100; i++)
        cr_assert_eq(one(i % 7 == 0 ? 0 : 130, CHALLENGE_AUTO, 200), 1, "%d", i);
    for (int i = 0; i <= FLOOD_CALM_S + 1; i++)
        (void)one(i % 7 == 0 ? 180 : 90, CHALLENGE_AUTO, 200);
    cr_expect_eq(f.level, 0, "calm, too");
}

Test(flood, a_fierce_one_costs_twice_and_falls_by_one)
{
    cr_expect_eq(second(1600, CHALLENGE_AUTO, 200), 2);
    for (int i = 0; i <= FLOOD_CALM_S; i++)
        (void)one(300, CHALLENGE_AUTO, 200);
    cr_expect_eq(f.level, 1);
    cr_expect_eq(f.began_per_s, 1600, "it began so, and goes on");
    cr_expect_lt(f.since_ms, wall_ms - FLOOD_CALM_S * 1000);
    for (int i = 0; i <= FLOOD_CALM_S; i++)
        (void)one(0, CHALLENGE_AUTO, 200);
    cr_expect_eq(f.level, 0);
}

Test(flood, by_hand)
{
    cr_expect_eq(second(0, CHALLENGE_ON, 0), 1);
    cr_expect_eq(f.why, FLOOD_BY_HAND);
    cr_expect_eq(second(200, CHALLENGE_ON, 200), 1);
    cr_expect_eq(f.why, FLOOD_JOINS);
    cr_expect_eq(second(5000, CHALLENGE_OFF, 200), 0, "off at once");
    cr_expect_eq(second(5000, CHALLENGE_AUTO, 0), 0, "nothing turns it on");
}

/* Over seeds: never off after two seconds with `from` joins, never on where none of the last half minute
 * had half of them. */
Test(flood, any_flood_by_a_simple_rule)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint64_t last[FLOOD_CALM_S * 2 + 2] = { 0 }, base = 0, before = 0;
        unsigned changes = 0, was = 0;
        struct rng r;

        begin();
        rng_seed(&r, seed);
        for (unsigned i = 0; i < 2000; i++) {
            uint64_t n, most = 0;

            if (rng_below(&r, 40) == 0)
                base = rng_below(&r, 3) == 0 ? rng_below(&r, 3000) : rng_below(&r, 150);
            n = base + rng_below(&r, 40);
            last[i % ARRAY_LEN(last)] = n;
            (void)one(n, CHALLENGE_AUTO, 200);
            for (unsigned k = 0; k < ARRAY_LEN(last); k++)
                most = last[k] > most ? last[k] : most;
            before = u64_min(before, n); /* in both */
            cr_assert(before < 200 || f.level > 0, "seed %lu", (unsigned long)seed);
            cr_assert(before < 200 * FLOOD_FIERCE || f.level == 2);
            before = n;
            cr_assert(most >= 100 || i < ARRAY_LEN(last) || f.level == 0, "seed %lu", (unsigned long)seed);
            changes += f.level < was;
            was = f.level;
        }
        cr_assert_leq(changes, 2000 / FLOOD_CALM_S);
    }
}
