/* test_node_why.c: what a node knows of a ticket in each of its states; asking changes
 * nothing. */
#include "tests/lib/segrig.h"

static struct rig *r;
static struct msg_why_ans a;

static void setup(void)
{
    r = rig_new(1, 1u << 20);
    rig_open(r, 0, 1, OPEN_TAIL, 1000, 40);
}

static void teardown(void)
{
    rig_free(r);
}

TestSuite(node_why, .init = setup, .fini = teardown);

static unsigned ask(seg_id seg, uint32_t number)
{
    struct msg_why q = { .ask = 5, .seg = seg, .number = number, .client = CLIENT_GAME };

    segtab_why(r->t[0], r->now, &q, &a);
    cr_assert_eq(a.ask, 5);
    cr_assert_str_eq(a.lines, "");
    return a.state;
}

Test(node_why, waiting)
{
    rig_join(r, 0, 1, 3);
    cr_assert_eq(ask(1, 2), WHY_WAITING);
    cr_expect_eq(a.position, 43);
    cr_expect_eq(a.segment, 1);
    cr_expect_lt(a.silent_ms, 1000);
    cr_expect_geq(a.left_ms, 3000);
    rig_run(r, 2000);
    cr_assert_eq(ask(1, 2), WHY_WAITING);
    cr_expect_geq(a.silent_ms, 1000, "%u", a.silent_ms);
    cr_expect_leq(a.silent_ms, 3000, "%u", a.silent_ms);
}

/* It is no heartbeat. */
Test(node_why, asking_keeps_nobodys_place)
{
    rig_join(r, 0, 1, 1);
    for (int i = 0; i < 300; i++) {
        rig_run(r, 100);
        (void)ask(1, 0);
    }
    cr_assert_eq(ask(1, 0), WHY_GONE);
    cr_expect_eq(a.reason, GONE_EXPIRED);
}

Test(node_why, released)
{
    rig_join(r, 0, 1, 2);
    rig_pop(r, 0, 1, 1, 2);
    cr_assert_eq(ask(1, 0), WHY_READY);
    cr_expect_not(a.unstored);
    cr_expect_eq(a.left_ms, 2000);
    cr_expect_eq(a.released_at_ms, r->now.wall_ms);
    cr_expect_eq(a.pass_expires_s, r->now.wall_ms / 1000 + 10);
    rig_poll(r, 0, 1, 1);
    cr_assert_eq(ask(1, 1), WHY_ADMITTED);
    cr_expect_eq(a.left_ms, 10000);
    rig_run(r, 2200);
    cr_assert_eq(ask(1, 0), WHY_GRACE);
    rig_poll(r, 0, 1, 0);
    cr_assert_eq(ask(1, 0), WHY_RETURNING);
    rig_run(r, 9000);
    cr_assert_eq(ask(1, 0), WHY_GONE);
    cr_expect_eq(a.reason, GONE_NO_SHOW);
    cr_assert_eq(ask(1, 1), WHY_GONE);
    cr_expect_eq(a.reason, GONE_FINISHED);
}

/* What the manager has not stored may not be told yet. */
Test(node_why, released_but_not_stored)
{
    rig_join(r, 0, 1, 1);
    rig_order(r, 0,
              (struct msg) { .type = MSG_SEG_POP,
                             .seg_pop = { .epoch = r->epoch, .seg = 1, .tick = 1, .n = 1,
                                          .released_at_ms = r->now.wall_ms } });
    cr_assert_eq(ask(1, 0), WHY_READY);
    cr_expect(a.unstored);
}

Test(node_why, gone)
{
    rig_join(r, 0, 1, 2);
    rig_leave(r, 0, 1, 0);
    cr_assert_eq(ask(1, 0), WHY_GONE);
    cr_expect_eq(a.reason, GONE_LEFT);
    cr_assert_eq(ask(1, 500), WHY_GONE);
    cr_expect_eq(a.reason, GONE_LOST, "never given, as far as this node knows");
    cr_assert_eq(ask(2, 0), WHY_NOT_HERE);
}

Test(node_why, lost_with_its_node)
{
    rig_order(r, 0,
              (struct msg) { .type = MSG_SEG_OPEN,
                             .seg_open = { .epoch = r->epoch, .seg = 2, .queue = 7,
                                           .kind = OPEN_REBUILD, .capacity = 10,
                                           .ahead = AHEAD_UNKNOWN, .for_ms = 5000,
                                           .mark_end = 3 } });
    cr_assert_eq(ask(2, 5), WHY_AWAY);
    rig_poll(r, 0, 2, 5);
    cr_assert_eq(ask(2, 5), WHY_WAITING);
    cr_expect_eq(a.position, 0, "not known before all had time to come back");
}
