/* test_pass_clock.c: by which clock a pass is judged. */
#include "router/gate/passes.h"

#include "tests/lib/criterion.h"

#define T0  1700000000ll
#define DAY 86400ll
#define TTL 300

static bool good(const struct pass_clock *c, msec_t now_ms, int64_t wall_s, int64_t nbf_s)
{
    int64_t at_s = pass_clock_s(c, now_ms, wall_s, nbf_s, nbf_s + TTL);

    return pass_clock_good(at_s, nbf_s, nbf_s + TTL);
}

Test(pass_clock, the_wall_clock_counts_where_none_is_told)
{
    struct pass_clock c = { 0 };

    pass_clock_told(&c, 1000, 0); /* not told */
    cr_expect(good(&c, 5000, T0, T0 + PASS_CLOCK_NBF_S));
    cr_expect_not(good(&c, 5000, T0, T0 + PASS_CLOCK_NBF_S + 1));
    cr_expect(good(&c, 5000, T0, T0 - TTL + 1));
    cr_expect_not(good(&c, 5000, T0, T0 - TTL));
    cr_expect_eq(pass_clock_least_s(&c, 5000, T0), T0);
}

/* Ours leaps by a day, either way: passes are judged by the clock that is told. */
Test(pass_clock, a_leap_of_ours_refuses_nothing)
{
    for (int64_t wall_s = T0 - DAY; wall_s <= T0 + DAY; wall_s += DAY) {
        struct pass_clock c = { 0 };

        pass_clock_told(&c, 1000, T0 * 1000);
        cr_expect(good(&c, 1000 + (TTL - 1) * 1000, wall_s, T0));
        cr_expect_not(good(&c, 1000 + TTL * 1000, wall_s + TTL, T0));
    }
}

/* Theirs leaps: those that were stamped before are good for their life, and no longer. */
Test(pass_clock, a_clock_leap_does_not_end_passes)
{
    for (int64_t leap = -DAY; leap <= DAY; leap += 2 * DAY) {
        struct pass_clock c = { 0 };

        pass_clock_told(&c, 1000, T0 * 1000);
        pass_clock_told(&c, 11000, (T0 + leap + 10) * 1000);
        cr_expect(good(&c, 21000, T0 + 9 * DAY, T0));
        cr_expect(good(&c, 21000, T0 + 9 * DAY, T0 + leap + 15));
        cr_expect_not(good(&c, (TTL + 2) * 1000, T0 + 9 * DAY, T0), "it is over");
        cr_expect_not(good(&c, 21000, T0 + 9 * DAY, T0 - TTL), "it was over before");
        cr_expect_not(good(&c, 21000, T0 + 9 * DAY, T0 - DAY - 200),
                      "nobody stamped it by the clock that is a day behind");
        cr_expect_eq(pass_clock_least_s(&c, 21000, T0 + 9 * DAY), T0 + 20 + (leap < 0 ? leap : 0));
    }
}

/* Words that are late are no other clock; one that leaps back is the one that it was. */
Test(pass_clock, late_words_and_leaps_back)
{
    struct pass_clock c = { 0 };

    pass_clock_told(&c, 1000, T0 * 1000);
    pass_clock_told(&c, 6000, T0 * 1000); /* five seconds late */
    cr_expect_not(c.before.known);
    cr_expect_not(good(&c, 6000, T0 + DAY, T0 - TTL), "no longer than the slack");
    pass_clock_told(&c, 7000, (T0 + 6) * 1000);
    pass_clock_told(&c, 17000, (T0 + DAY + 16) * 1000);
    pass_clock_told(&c, 27000, (T0 + 26) * 1000);
    cr_expect_eq(c.now.from_s, INT64_MIN);
    cr_expect(good(&c, 30000, T0 + 9 * DAY, T0 - 200));
    cr_expect(good(&c, 30000, T0 + 9 * DAY, T0 + DAY + 20));
}
