/* Tickets that are polled many times as often as they are told (router/gate/limit.h). */
#include <criterion/criterion.h>

#include "router/gate/limit.h"

#define TIMES 10

static struct ticket_polls *p;

static void setup(void)
{
    p = ticket_polls_new(64);
    cr_assert(p != NULL);
}

static void teardown(void)
{
    ticket_polls_free(p);
}

TestSuite(ticket_polls, .init = setup, .fini = teardown);

static bool polled(seg_id seg, uint32_t number, uint32_t told_ms, msec_t now_ms)
{
    struct token t = { .seg = seg, .number = number };

    if (ticket_polls_over_ms(p, &t, now_ms) > 0)
        return false;
    ticket_polls_told(p, &t, told_ms, TIMES, now_ms);
    return true;
}

Test(ticket_polls, as_it_is_told_it_is_never_refused)
{
    for (msec_t at = 1; at < 3600000; at += 3000)
        cr_assert(polled(7, 1, 3000, at));
}

Test(ticket_polls, some_may_come_at_once)
{
    int n = 0;

    while (polled(7, 1, 30000, 1000) && n < 100)
        n++;
    cr_expect_eq(n, TIMES);
}

/* For an hour, each 100 ms: of 36 000 polls those that the pace allows. */
Test(ticket_polls, a_script_gets_so_many_times_the_pace)
{
    int n = 0;

    for (msec_t at = 1; at < 3600000; at += 100)
        n += polled(7, 1, 30000, at);
    cr_expect(n >= 3600000 / 3000 - 1 && n <= 3600000 / 3000 + TIMES + 1, "%d", n);
}

Test(ticket_polls, the_told_wait_is_enough_and_short)
{
    struct token t = { .seg = 7, .number = 1 };
    uint32_t ms;

    while (polled(7, 1, 30000, 1000))
        ;
    ms = ticket_polls_over_ms(p, &t, 1000);
    cr_expect(ms > 0 && ms <= 30000 / TIMES + 1, "%u", ms);
    cr_expect(polled(7, 1, 30000, 1000 + ms));
}

/* It is near the front now: what it owes of the long interval does not hold it back. */
Test(ticket_polls, whose_interval_falls_owes_no_more_than_that)
{
    struct token t = { .seg = 7, .number = 1 };

    for (int i = 0; i < TIMES - 1; i++)
        cr_assert(polled(7, 1, 60000, 1000));
    cr_expect(polled(7, 1, 1000, 1000));
    cr_expect_leq(ticket_polls_over_ms(p, &t, 1000), 101);
    cr_expect_gt(ticket_polls_over_ms(p, &t, 1000), 0, "all of the short one is used up");
    cr_expect(polled(7, 1, 1000, 2000));
}

Test(ticket_polls, each_has_its_own)
{
    while (polled(7, 1, 30000, 1000))
        ;
    cr_expect(polled(7, 2, 30000, 1000));
    cr_expect(polled(8, 1, 30000, 1000));
}

/* Sixty-four places, and a crowd that polls as it is told: it does not push out who is ahead. */
Test(ticket_polls, a_crowd_does_not_wash_out_who_polls_too_often)
{
    int n = 0;

    for (msec_t at = 1; at < 600000; at += 100) {
        n += polled(7, 1, 30000, at);
        for (uint32_t i = 0; i < 50; i++)
            cr_assert(polled(9, (uint32_t)at * 50 + i, 30000, at));
    }
    cr_expect(n <= 600000 / 3000 + TIMES + 60, "%d of 6000", n);
}

Test(ticket_polls, a_clock_of_many_days)
{
    for (msec_t at = UINT32_MAX - 50000ll; at < UINT32_MAX + 50000ll; at += 1000)
        cr_assert(polled(7, 1, 1000, at));
    cr_assert(polled(7, 2, UINT32_MAX, 5));
    cr_expect(polled(7, 2, 0, 6));
}
