/* test_giveback.c: when it is time to give memory back, and that it goes. */
#include "common/supervisor/metrics_process.h"

#include "tests/lib/criterion.h"

#define MIB ((uint64_t)1 << 20)

Test(giveback, the_first_look_only_remembers)
{
    uint64_t low = 0;

    cr_expect_not(giveback_due(&low, 500 * MIB));
    cr_expect_eq(low, 500 * MIB);
}

Test(giveback, small_processes_wait_for_four_mebibytes)
{
    uint64_t low = 4 * MIB;

    cr_expect_not(giveback_due(&low, 8 * MIB - 1));
    cr_expect(giveback_due(&low, 8 * MIB));
    cr_expect_eq(low, 4 * MIB, "until it was given back");
}

Test(giveback, big_processes_wait_for_an_eighth)
{
    uint64_t low = 800 * MIB;

    cr_expect_not(giveback_due(&low, 899 * MIB));
    cr_expect(giveback_due(&low, 900 * MIB));
}

Test(giveback, shrinking_lowers_the_baseline)
{
    uint64_t low = 800 * MIB;

    cr_expect_not(giveback_due(&low, 10 * MIB));
    cr_expect(giveback_due(&low, 14 * MIB));
}

Test(giveback, starts_and_ends_with_its_loop)
{
    struct giveback *g;
    struct ev *ev;

    cr_assert_eq(ev_new(&ev, NULL), 0);
    cr_assert_eq(giveback_new(&g, ev, NULL), 0);
    ev_turn(ev, false);
    giveback_free(g);
    giveback_free(NULL);
    ev_free(ev);
}
