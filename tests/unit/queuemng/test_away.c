/* test_away.c: a line whose people have gone stalls nobody: with the manager core and three
 * node cores (mngrig.h). */
#include "queuemng/policy/release.h"

#define MR_TICKETS 100100
#include "tests/lib/mngrig.h"

#define QUEUE(rules)                                                                     \
    "{\"name\": \"q\", " rules ", \"segment_capacity\": 20000, \"claim\": \"60s\", "     \
    "\"grace\": \"180s\", \"idle\": {\"game\": \"3m\", \"mobile\": \"3m\", "             \
    "\"browser\": \"3m\"}, \"poll_min\": \"1s\", \"poll_max\": \"2s\", "                \
    "\"poll_budget_per_s\": 1000000, "                                                   \
    "\"pass_ttl\": \"30m\", \"away\": \"10s\"}"

static struct mr *r;

/* n people join, and never poll. Nobody is let in meanwhile. */
static void abandoned(const char *name, const char *queue, uint32_t n)
{
    r = mr_new(name);
    r->crowd = true;
    mr_put_queue(r, queue);
    mr_order(r, MNG_PAUSE);
    mr_run(r, 500);
    for (uint32_t k = 0; k < n; k += 10000) {
        mr_join(r, n - k < 10000 ? n - k : 10000);
        mr_run(r, 500);
    }
    mr_run(r, 20000);
}

static enum place_state asks(uint32_t i)
{
    struct place_ans a = { 0 };

    cr_assert(mr_poll(r, &r->ticket[i], &a));
    return a.state;
}

/* They poll as told. */
static void there(uint32_t first, uint32_t n, msec_t ms)
{
    for (; ms > 0; ms -= 500) {
        for (uint32_t i = 0; i < n; i++)
            (void)asks(first + i);
        mr_run(r, 500);
    }
}

/* Until the i-th is let in, who polls as told; in milliseconds. */
static msec_t until_inside(uint32_t i, msec_t most)
{
    msec_t ms = 0;

    for (; ms < most && asks(i) != PLACE_ADMITTED; ms += 500)
        mr_run(r, 500);
    return ms;
}

Test(away, skipping_100000_absent_takes_seconds)
{
    abandoned("slots", QUEUE("\"mode\": \"slots\", \"max_active\": 5"), 100000);
    mr_join(r, 1);
    there(100000, 1, 13000);
    mr_order(r, MNG_RESUME);
    cr_expect_lt(until_inside(100000, 60000), 10000);
    mr_free(r);
}

Test(away, absent_tickets_use_no_rate)
{
    abandoned("rate", QUEUE("\"release_per_s\": 1, \"no_show_boost\": 1"), 20000);
    mr_join(r, 3);
    there(20000, 3, 13000);
    mr_order(r, MNG_RESUME);
    cr_expect_lt(until_inside(20000, 60000), 5000);
    cr_expect_eq(asks(20002), PLACE_WAITING, "the rate is what it was: %d", asks(20002));
    mr_free(r);
}

/* Called in vain, he has as long as any no-show, and then goes before all who wait. */
Test(away, a_returning_ticket_is_next)
{
    abandoned("back", QUEUE("\"mode\": \"slots\", \"max_active\": 5"), 100);
    mr_join(r, 10);
    there(100, 10, 13000);
    mr_order(r, MNG_RESUME);
    there(100, 10, 4000);
    for (uint32_t i = 100; i < 105; i++)
        cr_expect_eq(asks(i), PLACE_ADMITTED, "%u", i);
    there(105, 5, 200000); /* not yet claim and grace, but the idle time */
    cr_expect_eq(asks(50), PLACE_WAITING);
    mr_leave(r, 100);
    cr_expect_lt(until_inside(50, 10000), 5000);
    cr_expect_neq(asks(105), PLACE_ADMITTED);
    mr_run(r, 40000);
    cr_expect_eq(asks(51), PLACE_GONE);
    mr_free(r);
}

/* As told, and a little late, is not away. */
Test(away, polling_as_told_keeps_the_turn)
{
    abandoned("late", QUEUE("\"mode\": \"slots\", \"max_active\": 5"), 0);
    mr_join(r, 20);
    there(0, 20, 13000);
    there(19, 1, 9000);
    mr_order(r, MNG_RESUME);
    mr_run(r, 1000);
    for (uint32_t i = 0; i < 20; i++)
        cr_expect_eq(asks(i), i < 5 ? PLACE_ADMITTED : PLACE_WAITING, "%u", i);
    mr_free(r);
}

/* Nobody is heard: that is us, and not them; nor is who is heard first the next. */
Test(away, a_cut_of_all_pollers_skips_nobody)
{
    abandoned("cut", QUEUE("\"mode\": \"slots\", \"max_active\": 5"), 0);
    mr_join(r, 20);
    there(0, 20, 13000);
    mr_run(r, 25000);
    mr_order(r, MNG_RESUME);
    mr_run(r, 1000);
    there(19, 1, 5000);
    for (uint32_t i = 0; i < 5; i++)
        cr_expect_eq(asks(i), PLACE_ADMITTED, "%u", i);
    for (uint32_t i = 0; i < 5; i++)
        mr_leave(r, i);
    there(19, 1, 3000);
    for (uint32_t i = 5; i < 20; i++)
        cr_expect_eq(asks(i), i < 10 ? PLACE_ADMITTED : PLACE_WAITING, "%u", i);
    mr_free(r);
}

Test(away, silence_begins_anew)
{
    struct quiet h = { 0 };

    cr_expect_eq(quiet_away_ms(&h, 50000, 3000, 10000), 0, "nobody was heard");
    for (msec_t at = 100000; at <= 112000; at += 2000)
        quiet_poll(&h, at, 3000);
    cr_expect_eq(quiet_away_ms(&h, 109999, 3000, 10000), 0);
    cr_expect_eq(quiet_away_ms(&h, 112000, 3000, 10000), 10000);
    cr_expect_eq(quiet_away_ms(&h, 115000, 3000, 10000), 10000);
    cr_expect_eq(quiet_away_ms(&h, 115001, 3000, 10000), 0, "silent");
    for (msec_t at = 116000; at <= 126000; at += 2000)
        quiet_poll(&h, at, 3000);
    cr_expect_eq(quiet_away_ms(&h, 125999, 3000, 10000), 0, "some are not back yet");
    cr_expect_eq(quiet_away_ms(&h, 126000, 3000, 10000), 10000);
    cr_expect_eq(quiet_away_ms(&h, 126000, 3000, 0), 0, "it is off");
}
