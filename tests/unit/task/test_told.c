/* test_told.c: what providers say is left of a quota: how it is written, and what follows for calls. */
#include "task/calls/calls.h"
#include "task/calls/endpoint_lets.h"

#include "tests/lib/criterion.h"

#include "common/base/log.h"
#include "common/base/text.h"

#define NOW  ((msec_t)1000000)
#define WALL 784111777000 /* Sun, 06 Nov 1994 08:49:37 GMT */
#define ROWS "r X-Left X-Reset u left-tokens reset-tokens"

Test(told, a_reset_is_written_in_many_ways)
{
    static const struct {
        const char *text;
        int64_t ms;
    } v[] = {
        { "0", 0 }, { "20", 20000 }, { "1.5", 1500 }, { "0.0009", 0 }, { "59.999", 59999 },
        { "6ms", 6 }, { "1s", 1000 }, { "1m2s", 62000 }, { "6m0s", 360000 }, { "1h", 3600000 }, { "1m2.5s", 62500 },
        { "250us", 0 }, { "1500\xc2\xb5s", 1 }, { "900000ns", 0 }, { "1h0m0s", 3600000 },
        { "1994-11-06T08:49:40Z", 3000 }, { "1994-11-06T08:49:37.250Z", 250 }, { "1994-11-06t09:49:40+01:00", 3000 },
        { "1994-11-06 07:49:40-01:00", 3000 }, { "1994-11-06T08:49:36Z", 0 },
        { "1784111780", 3600000 }, { "784111780", 3600000 }, { "1784111780123", 3600000 },
        /* hostile: */
        { "99999999999999999999999999999", 3600000 }, { "2d", 3600000 }, { "99999999999999999d99999999999999999h", 3600000 },
        { "9999-12-31T23:59:59Z", 3600000 }, { "", -1 }, { "-1", -1 }, { "1x", -1 }, { "s", -1 }, { "1m2", -1 },
        { "1 s", -1 }, { "1.", -1 }, { ".5s", -1 }, { "1e9", -1 }, { "nan", -1 }, { "1994-13-06T08:49:40Z", -1 },
        { "1994-11-06T08:49:40", -1 }, { "1994-11-06T08:49:40+1", -1 }, { "1994-11-06T08:49:99Z", -1 },
        { "1994-11-06T08:49:40+99:00", -1 }, { "0x10", -1 }, { "1m\xff", -1 },
        { "-999-11-06T08:49:40Z", -1 }, { "+999-11-06T08:49:40Z", -1 }, { " 199-11-06T08:49:40Z", -1 },
    };

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        cr_expect_eq(told_reset(v[i].text, WALL), v[i].ms, "%s: %ld", v[i].text, (long)told_reset(v[i].text, WALL));
    cr_expect_eq(told_reset("1784111780", 1784111777000), 3000, "Unix time");
    cr_expect_eq(told_reset("1784111780000", 1784111777000), 3000);
    cr_expect_eq(told_reset("1784111780.5", 1784111777000), 3500);
    cr_expect_eq(told_reset("1784111770", 1784111777000), 0, "over");
}

Test(told, fields_are_known_by_their_names)
{
    cr_expect_eq(told_field(ROWS, "x-left", 6), 1 << 0);
    cr_expect_eq(told_field(ROWS, "X-RESET", 7), 1 << 1);
    cr_expect_eq(told_field(ROWS, "left-tokens", 11), 1 << 2);
    cr_expect_eq(told_field(ROWS, "Reset-Tokens", 12), 1 << 3);
    cr_expect_eq(told_field(ROWS, "x-lef", 5), 0);
    cr_expect_eq(told_field(ROWS, "x-left-tokens", 13), 0);
    cr_expect_eq(told_field("", "x-left", 6), 0);
    cr_expect_eq(told_field("r a", "", 0), 1 << 1, "no manager says so; no field has no name");
    cr_expect_eq(told_field(ROWS " r other x-reset", "x-reset", 7), 1 << 1 | 1 << 5, "one reset of two quotas");
}

static struct calls calls;

static struct msg_endpoint gen(uint64_t serial)
{
    return (struct msg_endpoint){ .epoch = 1, .name = "gen", .serial = serial, .url = "http://gen",
                                  .rate = ENDPOINT_ANY, .burst = 1, .max_concurrent = 64, .deadline_ms = 30000,
                                  .connect_timeout_ms = 3000, .breaker_min = 20, .breaker_open_ms = 5000,
                                  .told = ROWS, .unit_part = UNIT_PARTS };
}

static struct endpoint *begin(const struct msg_endpoint *m)
{
    struct endpoint *ep;

    calls_init(&calls);
    log_set_level(LOG_ERROR);
    cr_assert_eq(endpoints_define(&calls.endpoints, m, NOW - 60000), 0); /* its ramp is over */
    ep = endpoints_find(&calls.endpoints, m->name);
    ep->usable = true;
    return ep;
}

static struct going_call *send(struct endpoint *ep, uint64_t cost, msec_t now)
{
    struct going_call *g;

    endpoint_pays(ep, cost, now);
    g = calls_begin(&calls, ep, 1, now);
    g->cost = cost;
    g->step = CALL_SENT;
    return g;
}

/* "left reset left reset" of both rows; "-": it does not say. */
static void answer(struct going_call *g, const char *a, const char *b, const char *c, const char *d, msec_t now)
{
    struct call_answer x = { .status = 200 };

    copy_text(x.told[0], sizeof(x.told[0]), a);
    copy_text(x.told[1], sizeof(x.told[1]), b);
    copy_text(x.told[2], sizeof(x.told[2]), c);
    copy_text(x.told[3], sizeof(x.told[3]), d);
    calls_answered(g, &x, now, WALL);
    calls_end(&calls, g, now);
}

static unsigned begun(struct endpoint *ep, uint64_t cost, msec_t now)
{
    unsigned n = 0;

    for (; n < 1000 && endpoint_lets(ep, 0, now) && endpoint_affords(ep, now) >= cost; n++)
        calls_end(&calls, send(ep, cost, now), now);
    return n;
}

Test(told, no_more_begin_than_are_left_until_the_reset)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep = begin(&m);
    struct going_call *first, *second;
    int64_t ms;

    first = send(ep, 5, NOW);
    second = send(ep, 5, NOW);
    answer(first, "3", "2s", "", "", NOW + 10);
    for (int i = 0; i < 2; i++) { /* `second` counts, since the provider may not have had it then */
        cr_expect(endpoint_lets(ep, 0, NOW + 10));
        calls_end(&calls, send(ep, 5, NOW + 10), NOW + 10);
    }
    cr_expect_not(endpoint_lets(ep, 0, NOW + 10));
    cr_expect_eq(endpoint_when(ep, 0, NOW + 10), NOW + 2010);
    cr_expect_eq(endpoint_eta(ep, 1, NOW + 10, &ms), TASK_ETA_RATE);
    cr_expect_eq(ms, 2000);
    cr_expect_not(endpoint_lets(ep, 0, NOW + 2009));
    answer(second, "1", "1s", "", "", NOW + 20);
    cr_expect_not(endpoint_lets(ep, 0, NOW + 20), "two have begun since");
    cr_expect(endpoint_lets(ep, 0, NOW + 1020), "the later call's word counts");
    cr_expect_eq(begun(ep, 1, NOW + 1020), 1000, "and no limit is left");
    calls_fini(&calls);
}

/* An answer to a call of before has other fields than those that are named now. */
Test(told, what_other_fields_said_counts_for_none_of_now)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep = begin(&m);
    struct going_call *g = send(ep, 5, NOW);

    m.serial = 2;
    m.told = "u left-tokens reset-tokens r X-Left X-Reset";
    cr_assert_eq(endpoints_define(&calls.endpoints, &m, NOW), 0);
    answer(g, "3", "2s", "", "", NOW + 10);
    cr_expect_geq(endpoint_affords(ep, NOW + 10), 1000, "three calls are not three tokens");
    answer(send(ep, 5, NOW + 20), "4", "2s", "", "", NOW + 30);
    cr_expect_eq(endpoint_affords(ep, NOW + 30), 4);
    calls_fini(&calls);
}

Test(told, units_are_counted_as_calls_cost)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep = begin(&m);

    answer(send(ep, 5, NOW), "100", "1m", "1000", "1994-11-06T08:49:40Z", NOW);
    cr_expect_eq(endpoint_affords(ep, NOW), 1000);
    cr_expect_eq(begun(ep, 300, NOW), 3);
    cr_expect_eq(endpoint_affords(ep, NOW), 100);
    endpoint_waits(ep, 300, NOW);
    cr_expect_eq(endpoint_when(ep, 0, NOW), NOW + 3000, "%ld", (long)(endpoint_when(ep, 0, NOW) - NOW));
    cr_expect_eq(begun(ep, 100, NOW), 1);
    cr_expect_eq(endpoint_affords(ep, NOW + 3000), QUOTA_ANY);
    calls_fini(&calls);
}

Test(told, it_never_lets_more_begin_than_our_own_rates)
{
    static uint64_t ten[] = { 10, PER_MINUTE, 0 };
    struct msg_endpoint m = gen(1);
    struct endpoint *ep;

    m.unit_rates = ten;
    m.n_unit_rates = 3;
    ep = begin(&m);
    answer(send(ep, 1, NOW), "1000000", "1h", "1000000", "1h", NOW);
    cr_expect_eq(begun(ep, 1, NOW), 9);
    calls_fini(&calls);
}

Test(told, an_earlier_call_and_what_cannot_be_read_change_nothing)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep = begin(&m);
    struct going_call *first = send(ep, 1, NOW), *second = send(ep, 1, NOW);

    answer(second, "2", "10s", "", "", NOW);
    answer(first, "50", "10s", "", "", NOW + 1);
    answer(send(ep, 1, NOW), "many", "10s", "-5", "1h", NOW + 1);
    cr_expect(ep->told.unread);
    answer(send(ep, 1, NOW), "9", "soon", "", "", NOW + 1);
    cr_expect_not(endpoint_lets(ep, 0, NOW + 1), "two have begun");
    cr_expect(endpoint_lets(ep, 0, NOW + 10000));
    calls_fini(&calls);
}

Test(told, a_node_has_its_part_of_what_is_left)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep;

    m.unit_part = UNIT_PARTS / 4;
    ep = begin(&m);
    answer(send(ep, 1, NOW), "10", "10s", "", "", NOW);
    cr_expect_eq(begun(ep, 1, NOW), 2);
    cr_expect(endpoint_lacks_share(ep, NOW), "with a greater part more may begin");
    m.serial = 2;
    m.unit_part = UNIT_PARTS;
    cr_assert_eq(endpoints_define(&calls.endpoints, &m, NOW), 0);
    cr_expect_eq(begun(ep, 1, NOW), 8, "what has begun counts");
    cr_expect_not(endpoint_lacks_share(ep, NOW));
    calls_fini(&calls);
}

Test(told, another_nodes_word_counts_for_one_that_has_heard_nothing)
{
    static uint64_t word[] = { 4, 5000, 0, 0, 0, 0 }, more[] = { 100, 5000, 0, 0, 0, 0 };
    struct msg_endpoint m = gen(1);
    struct endpoint *ep = begin(&m);

    m.told_word = word;
    m.n_told_word = 6;
    cr_assert_eq(endpoints_define(&calls.endpoints, &m, NOW), 0); /* the same serial */
    m.told_word = more;
    cr_assert_eq(endpoints_define(&calls.endpoints, &m, NOW), 0);
    cr_expect_eq(begun(ep, 1, NOW), 4);
    cr_expect_eq(begun(ep, 1, NOW + 5000), 1000);
    calls_fini(&calls);
}

Test(told, what_was_not_sent_is_left)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep = begin(&m);
    struct call_answer unsent = { .fault = CALL_CONNECT };
    struct going_call *g;

    answer(send(ep, 1, NOW), "1", "1h", "", "", NOW);
    g = send(ep, 1, NOW);
    cr_expect_not(endpoint_lets(ep, 0, NOW));
    calls_answered(g, &unsent, NOW, WALL);
    calls_end(&calls, g, NOW);
    cr_expect(endpoint_lets(ep, 0, NOW), "else it would stand for an hour");
    calls_fini(&calls);
}

Test(told, who_may_not_wait_is_told_when)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep;

    m.on_quota = ON_QUOTA_REJECT;
    ep = begin(&m);
    cr_expect_eq(endpoint_over_quota(ep, 1, 1, NOW), 0);
    answer(send(ep, 1, NOW), "1", "9s", "100", "20s", NOW);
    cr_expect_eq(endpoint_over_quota(ep, 1, 1, NOW), 0);
    cr_expect_eq(endpoint_over_quota(ep, 2, 1, NOW), 9000);
    cr_expect_eq(endpoint_over_quota(ep, 1, 101, NOW), 20000);
    calls_fini(&calls);
}

Test(told, a_reset_by_hand_and_other_fields_forget_it)
{
    struct msg_endpoint m = gen(1);
    struct endpoint *ep = begin(&m);

    answer(send(ep, 1, NOW), "0", "1h", "", "", NOW);
    cr_expect_not(endpoint_lets(ep, 0, NOW));
    m.serial = 2;
    m.resets = 7;
    cr_assert_eq(endpoints_define(&calls.endpoints, &m, NOW - 60000), 0);
    cr_expect(endpoint_lets(ep, 0, NOW));
    answer(send(ep, 1, NOW), "0", "1h", "", "", NOW);
    m.serial = 3;
    m.told = "r other other-reset";
    cr_assert_eq(endpoints_define(&calls.endpoints, &m, NOW), 0);
    cr_expect(endpoint_lets(ep, 0, NOW));
    calls_fini(&calls);
}
