/* test_commands.c: what backends want of sessions, at a segment node. A pass of the
 * rig's rules lives 10 s, a released ticket is to be collected within 2 s. */
#include "tests/lib/segrig.h"

static struct rig *r;
static int64_t t0; /* Unix seconds of the release */

static void setup(void)
{
    r = rig_new(2, 1u << 20);
    rig_open(r, 0, 1, OPEN_TAIL, 100, 0);
    rig_join(r, 0, 1, 100);
    t0 = r->now.wall_ms / 1000;
    rig_pop(r, 0, 1, 1, 5);
    rig_link(r);
}

static void teardown(void)
{
    rig_free(r);
}

TestSuite(commands, .init = setup, .fini = teardown);

static int64_t pass_until(int node, uint32_t number)
{
    struct place_ans a = rig_poll(r, node, 1, number);
    int64_t until = a.state == PLACE_ADMITTED ? a.pass_expires_s : 0;

    arena_reset(&r->mem);
    return until;
}

static uint64_t active(int node)
{
    struct segtab_counts c;

    segtab_count(r->t[node], &c);
    return c.active;
}

static int use(int node, uint32_t number, int64_t by)
{
    return rig_session(r, node, 1, number, SESS_USE, by).state;
}

Test(commands, an_extended_session_keeps_its_slot)
{
    cr_expect_eq(pass_until(0, 0), t0 + 10);
    cr_expect_eq(pass_until(0, 1), t0 + 10);
    cr_assert_eq(rig_session(r, 0, 1, 0, SESS_EXTEND, t0 + 30).state, SESS_OK);
    cr_expect_eq(pass_until(0, 0), t0 + 30, "asked again it says so");
    cr_expect_eq(rig_session(r, 0, 1, 0, SESS_EXTEND, t0 + 20).until_s, t0 + 30,
                 "nothing is made shorter");
    rig_run(r, 100);
    cr_expect_eq(r->n_longer, 1, "routers hear of what has changed, once");
    cr_expect_eq(r->longer.until_s, t0 + 30);
    rig_run(r, 12000);
    cr_expect_eq(active(0), 1, "the other one's time is over");
    cr_expect_eq(rig_session(r, 0, 1, 1, SESS_EXTEND, t0 + 40).state, SESS_GONE);
    rig_run(r, 19000);
    cr_expect_eq(active(0), 0);
    cr_expect_eq(rig_session(r, 0, 1, 0, SESS_EXTEND, t0 + 60).state, SESS_GONE);
    cr_expect_eq(rig_poll(r, 0, 1, 0).reason, GONE_FINISHED);
}

Test(commands, revocation_reaches_the_ticket_and_all_routers)
{
    cr_assert_eq(pass_until(0, 0), t0 + 10);
    cr_assert_eq(pass_until(0, 1), t0 + 10);
    rig_session(r, 0, 1, 1, SESS_EXTEND, t0 + 50);
    cr_assert_eq(rig_session(r, 0, 1, 0, SESS_RELEASE, 0).state, SESS_OK);
    cr_assert_eq(rig_session(r, 0, 1, 1, SESS_REVOKE, 0).state, SESS_OK);
    cr_expect_eq(active(0), 0, "both slots are free at once");
    cr_expect_eq(rig_poll(r, 0, 1, 0).reason, GONE_LEFT);
    cr_expect_eq(rig_poll(r, 0, 1, 1).reason, GONE_FINISHED);
    rig_run(r, 100);
    cr_expect_eq(r->n_ended, 2);
    cr_expect_eq(r->ended.until_s, t0 + 50, "refused as long as it could be shown");
    cr_expect_eq(rig_session(r, 0, 1, 1, SESS_REVOKE, 0).state, SESS_OK, "again");
    cr_expect_eq(rig_session(r, 0, 1, 1, SESS_EXTEND, t0 + 90).state, SESS_GONE);
    rig_run(r, 100);
    cr_expect_eq(r->n_ended, 2);
    rig_run(r, 20000); /* a new router hears it, too */
    rig_up(r, 0, RIG_ROUTER + 10, RPC_ROUTER, "rt2");
    rig_pump(r, UINT32_MAX);
    cr_expect_eq(r->n_ended, 3);
}

/* The record that it was collected may be lost; who shows a pass has collected it. */
Test(commands, revoking_a_session_with_an_issued_pass)
{
    cr_assert_eq(rig_session(r, 0, 1, 2, SESS_EXTEND, t0 + 30).state, SESS_OK);
    cr_assert_eq(rig_session(r, 0, 1, 3, SESS_RELEASE, 0).state, SESS_OK);
    rig_run(r, 2500);
    cr_expect_eq(active(0), 1, "no no-show any more");
    cr_expect_eq(r->ended.number, 3);
    cr_expect_eq(rig_session(r, 0, 1, 4, SESS_EXTEND, t0 + 30).state, SESS_GONE,
                 "a no-show has no slot that could be kept");
    cr_expect_eq(rig_session(r, 0, 1, 4, SESS_RELEASE, 0).state, SESS_OK);
    rig_run(r, 100);
    cr_expect_eq(r->ended.number, 4);
}

Test(commands, unknown_and_moved_sessions)
{
    cr_expect_eq(rig_session(r, 0, 9, 0, SESS_EXTEND, t0 + 30).state, SESS_UNKNOWN);
    cr_expect_eq(rig_session(r, 0, 1, 50, SESS_EXTEND, t0 + 30).state, SESS_GONE, "it waits");
    cr_expect_eq(rig_poll(r, 0, 1, 50).state, PLACE_WAITING);
    cr_expect_eq(rig_session(r, 0, 1, 5000, SESS_EXTEND, t0 + 30).state, SESS_GONE);
    segtab_hold(r->t[0], true);
    cr_expect_eq(rig_session(r, 0, 1, 0, SESS_EXTEND, t0 + 30).state, SESS_BUSY,
                 "it could not be written down");
    segtab_hold(r->t[0], false);
}

Test(commands, it_moves_with_its_extension_and_is_found_by_the_old_name)
{
    const struct move_args { uint64_t move; seg_id from, to; } m = { 42, 1, 2 };

    cr_assert_eq(pass_until(0, 0), t0 + 10);
    cr_assert_eq(rig_session(r, 0, 1, 0, SESS_EXTEND, t0 + 30).state, SESS_OK);
    cr_assert_eq(use(0, 0, 7), SESS_OK);
    rig_open(r, 1, 2, OPEN_TAIL, 200, 0);
    rig_join(r, 1, 2, 200);
    for (uint32_t i = 0; i < 150; i++)
        rig_leave(r, 1, 2, i);
    rig_order(r, 1, (struct msg) { .type = MSG_MOVE_IN,
                                   .move_in = { 1, m.move, m.from, m.to, 100 } });
    rig_order(r, 0, (struct msg) { .type = MSG_MOVE_OUT,
                                   .move_out = { 1, m.move, m.from, m.to, "node1", "x" } });
    cr_assert_eq(r->in_report, MOVE_FENCED);
    cr_expect_eq(rig_session(r, 0, 1, 0, SESS_EXTEND, t0 + 40).state, SESS_BUSY);
    rig_order(r, 1, (struct msg) { .type = MSG_MOVE_END,
                                   .move_end = { 1, m.move, m.from, m.to, true } });
    rig_order(r, 0, (struct msg) { .type = MSG_MOVE_END,
                                   .move_end = { 1, m.move, m.from, m.to, true } });
    cr_expect_eq(rig_session(r, 0, 1, 0, SESS_EXTEND, t0 + 40).state, SESS_MOVED);
    cr_expect_eq(rig_session(r, 0, 1, 0, SESS_EXTEND, t0 + 40).moved_to, 2);
    cr_expect_eq(pass_until(1, 0), t0 + 30);
    cr_expect_eq(use(1, 0, 8), SESS_GONE, "used before the move");
    cr_expect_eq(use(1, 0, 7), SESS_OK);
    cr_expect_eq(use(1, 1, 8), SESS_OK);
    rig_run(r, 15000);
    cr_expect_eq(active(1), 1);
    cr_expect_eq(rig_session(r, 1, 1, 0, SESS_EXTEND, t0 + 40).until_s, t0 + 40);
    cr_assert_eq(rig_session(r, 1, 1, 0, SESS_REVOKE, 0).state, SESS_OK);
    cr_expect_eq(active(1), 0);
}

Test(commands, a_pass_is_used_once)
{
    cr_assert_eq(pass_until(0, 0), t0 + 10);
    cr_expect_eq(use(0, 0, 7), SESS_OK);
    cr_expect_eq(use(0, 0, 8), SESS_GONE);
    cr_expect_eq(rig_session(r, 0, 1, 0, SESS_USE, 8).until_s, 7, "by which use");
    cr_expect_eq(rig_session(r, 0, 1, 50, SESS_USE, 8).until_s, 0, "it waits");
    cr_expect_eq(use(0, 0, 7), SESS_OK, "the same use, whose answer was lost");
    cr_expect_eq(pass_until(0, 0), t0 + 10, "its session goes on");
    cr_expect_eq(use(0, 1, 9), SESS_OK, "the record that it was collected may be lost");
    cr_expect_eq(active(0), 2);
    cr_expect_eq(use(0, 2, 0), SESS_GONE, "no use has that number");
    cr_expect_eq(use(0, 50, 9), SESS_GONE, "it waits");
    cr_assert_eq(rig_session(r, 0, 1, 0, SESS_EXTEND, t0 + 30).state, SESS_OK);
    cr_expect_eq(use(0, 0, 8), SESS_GONE);
    cr_assert_eq(rig_session(r, 0, 1, 0, SESS_REVOKE, 0).state, SESS_OK);
    cr_expect_eq(use(0, 0, 7), SESS_GONE);
    segtab_hold(r->t[0], true);
    cr_expect_eq(use(0, 3, 7), SESS_BUSY, "it could not be written down");
    segtab_hold(r->t[0], false);
    rig_run(r, 12000);
    cr_expect_eq(use(0, 1, 9), SESS_GONE, "its time is over");
}

/* Who came back from a line of no-shows has been in a list, which lies where the use does. */
Test(commands, a_returned_ones_pass_is_used_once)
{
    rig_run(r, 3000);
    cr_assert_eq(rig_poll(r, 0, 1, 3).state, PLACE_WAITING);
    cr_assert_eq(rig_poll(r, 0, 1, 4).state, PLACE_WAITING);
    t0 = r->now.wall_ms / 1000;
    rig_pop(r, 0, 1, 2, 2);
    cr_expect_eq(pass_until(0, 4), t0 + 10);
    cr_expect_eq(use(0, 4, 5), SESS_OK);
    cr_expect_eq(use(0, 4, 6), SESS_GONE);
    cr_expect_eq(use(0, 3, 6), SESS_OK);
}

/* What a router asks for when the bearer of a pass is at work. */
Test(commands, a_renewal_is_answered_with_the_same_ticket_s_pass_until_later)
{
    struct place_ans first = rig_poll(r, 0, 1, 0);
    struct sess_ans a = rig_renew(r, 0, 1, 0, t0 + 15);
    char *was = strndup(first.pass, first.pass_len), until[30];

    cr_assert_eq(a.state, SESS_OK);
    cr_expect_eq(a.until_s, t0 + 15);
    cr_assert_gt(a.pass_len, 0);
    snprintf(until, sizeof(until), "/%lld", (long long)t0 + 15);
    cr_expect(memcmp(was, a.pass, first.pass_len - strlen(until)) == 0, "the same ticket");
    cr_expect(memcmp(a.pass + a.pass_len - strlen(until), until, strlen(until)) == 0);
    cr_expect_eq(pass_until(0, 0), t0 + 15, "asked again it is this one");
    cr_expect_eq(rig_session(r, 0, 1, 0, SESS_EXTEND, t0 + 20).pass_len, 0, "nobody asked");
    free(was);
}

Test(commands, an_ended_session_is_not_renewed)
{
    cr_assert_eq(pass_until(0, 0), t0 + 10);
    cr_assert_eq(rig_session(r, 0, 1, 0, SESS_REVOKE, 0).state, SESS_OK);
    cr_expect_eq(rig_renew(r, 0, 1, 0, t0 + 15).state, SESS_GONE);
    cr_expect_eq(rig_renew(r, 0, 1, 0, t0 + 15).pass_len, 0);
    cr_expect_eq(active(0), 0);
    cr_assert_eq(pass_until(0, 1), t0 + 10);
    rig_run(r, 11000);
    cr_expect_eq(rig_renew(r, 0, 1, 1, t0 + 25).state, SESS_GONE);
    cr_expect_eq(active(0), 0);
}

/* A manager that has given the node up counts on it. */
/* 0 to 4 are released, the others wait. */
Test(commands, a_place_of_several_is_given_up_unless_it_was_admitted)
{
    struct drop_req q[] = { { 1, 0, DROP_UNLESS_ADMITTED }, { 1, 1, DROP_UNLESS_ADMITTED },
                            { 1, 9, DROP_UNLESS_ADMITTED }, { 1, 9, DROP_UNLESS_ADMITTED } };
    struct drop_ans a[4];

    cr_assert_eq(pass_until(0, 0), t0 + 10);
    segtab_drop(r->t[0], r->now, q, 4, a);
    cr_expect_eq(a[0].state, DROP_INSIDE, "its pass was made");
    for (int i = 1; i < 4; i++)
        cr_expect_eq(a[i].state, DROP_OK, "%d: released, waiting, over", i);
    cr_expect_eq(pass_until(0, 0), t0 + 10, "it is as it was");
    cr_expect_eq(rig_poll(r, 0, 1, 1).state, PLACE_GONE, "its turn was not taken");
    cr_expect_eq(rig_poll(r, 0, 1, 9).state, PLACE_GONE);
    rig_run(r, 12000);
    segtab_drop(r->t[0], r->now, q, 1, a);
    cr_expect_eq(a[0].state, DROP_OK, "its time is over");
}

/* 2 did not come within its 2 s, and returns. */
Test(commands, a_place_of_several_is_given_up_while_it_returns)
{
    struct drop_req q = { 1, 2, DROP_UNLESS_ADMITTED };
    struct drop_ans a;

    rig_run(r, 3000);
    cr_assert_eq(rig_poll(r, 0, 1, 2).state, PLACE_WAITING);
    segtab_drop(r->t[0], r->now, &q, 1, &a);
    cr_expect_eq(a.state, DROP_OK);
    cr_expect_eq(rig_poll(r, 0, 1, 2).state, PLACE_GONE);
}

Test(commands, without_a_manager_sessions_keep_their_bound)
{
    int64_t word;

    cr_assert_eq(pass_until(0, 0), t0 + 10);
    cr_assert_eq(pass_until(0, 1), t0 + 10);
    rig_down(r, 0, RIG_MNG);
    rig_run(r, 4000);
    cr_expect_eq(rig_renew(r, 0, 1, 1, t0 + 900).until_s, t0 + 900, "no slots are counted");
    r->hold_s = 15;
    rig_start(r, 0);
    rig_run(r, 1000);
    cr_expect_eq(rig_renew(r, 0, 1, 0, t0 + 15).until_s, t0 + 15);
    word = r->now.wall_ms / 1000;
    cr_expect_eq(rig_session(r, 0, 1, 0, SESS_EXTEND, t0 + 900).until_s, word + 15,
                 "nor is it extended further at once");
    rig_down(r, 0, RIG_MNG);
    rig_run(r, 7000);
    cr_expect_eq(rig_renew(r, 0, 1, 0, word + 30).until_s, word + 15);
    rig_run(r, 9000);
    cr_expect_eq(rig_renew(r, 0, 1, 0, word + 40).state, SESS_GONE);
    cr_expect_eq(rig_renew(r, 0, 1, 1, word + 40).until_s, t0 + 900, "nothing is made shorter");
}
