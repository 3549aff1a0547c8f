/* test_xfer.c: moves between two nodes and within one, with the crowd going on meanwhile,
 * and with every message in turn lost or its link broken. */
#include "common/base/rng.h"
#include "tests/lib/segrig.h"

#define N_X        300  /* waiting in the target, segment 1 on node 0 */
#define N_Y        3000 /* joined the source, segment 2 on node 1 */
#define N_RELEASED 10   /* the first of the source */
#define MOVE       42

static struct rig *r;
static struct rng rng;
static bool left_y[N_Y];
static uint64_t shown[N_Y]; /* the last position each was shown; 0 = none */

static void setup(void)
{
    r = NULL;
    rng_seed(&rng, 3);
}

static void teardown(void)
{
    rig_free(r);
}

TestSuite(xfer, .init = setup, .fini = teardown);

/* X: 300 of 400 waiting. Y: 3000 joined, 10 released, some left. y: Y's node. */
static void scene(int nodes)
{
    int y = nodes - 1;

    r = rig_new(nodes, 1u << 20);
    rig_open(r, 0, 1, OPEN_TAIL, 400, 0);
    rig_join(r, 0, 1, 400);
    for (uint32_t i = 0; i < 100; i++)
        rig_leave(r, 0, 1, i * 4);
    rig_open(r, y, 2, OPEN_TAIL, N_Y, 400);
    for (uint32_t i = 0; i < N_Y; i++)
        cr_assert_eq(rig_join_as(r, y, 2,
                                 i % 7 == 0 ? (char[12]) { 2, 2, '1', ' ', /* good once */
                                                           'u', (char)('a' + i % 26),
                                                           (char)('a' + i / 26 % 26),
                                                           (char)('a' + i / 676), 0 }
                                            : NULL)
                         .state,
                     APPEND_OK);
    memset(left_y, 0, sizeof(left_y));
    memset(shown, 0, sizeof(shown));
    rig_pop(r, y, 2, 1, 10);
    rig_poll(r, y, 2, 0);
    for (uint32_t i = 0; i < 10; i++)
        left_y[i] = true; /* not waiting any more */
    for (uint32_t i = 600; i < 1200; i++) {
        rig_leave(r, y, 2, i);
        left_y[i] = true;
    }
    if (nodes == 2)
        rig_link(r);
    rig_run(r, 100);
}

static struct msg end_msg(bool commit)
{
    return (struct msg) { .type = MSG_MOVE_END,
                          .move_end = { r->epoch, MOVE, 2, 1, commit } };
}

static void order_in(void)
{
    rig_order(r, 0,
              (struct msg) { .type = MSG_MOVE_IN, .move_in = { 1, MOVE, 2, 1, N_Y } });
}

static struct msg out_msg(void)
{
    return (struct msg) { .type = MSG_MOVE_OUT,
                          .move_out = { 1, MOVE, 2, 1, "node0", "127.0.0.1:1" } };
}

/* One of Y's does something, wherever Y is served now. */
static void churn(int node, unsigned n)
{
    while (n-- > 0) {
        uint32_t i = (uint32_t)rng_below(&rng, N_Y);

        if (left_y[i])
            continue;
        if (rng_chance(&rng, 0.3)) {
            if (rig_leave(r, node, 2, i).state == DROP_OK)
                left_y[i] = true;
        } else {
            struct place_ans a = rig_poll(r, node, 2, i);

            if (a.state != PLACE_WAITING)
                continue; /* busy */
            cr_assert(shown[i] == 0 || a.position <= shown[i], "%u: %lu after %lu", i,
                      (unsigned long)a.position, (unsigned long)shown[i]);
            shown[i] = a.position;
        }
        arena_reset(&r->mem);
    }
}

/* Everybody of Y is where he should be, in order, and no position has grown. */
static void check_line(int node, bool moved)
{
    uint64_t last = 0;
    uint32_t n = 0;

    rig_run(r, 100);
    for (uint32_t i = 0; i < N_Y; i++) {
        struct place_ans a = rig_poll(r, node, 2, i);

        arena_reset(&r->mem);
        if (i < N_RELEASED)
            continue;
        if (left_y[i]) {
            cr_assert_eq(a.state, PLACE_GONE, "number %u", i);
            continue;
        }
        cr_assert_eq(a.state, PLACE_WAITING, "number %u state %u", i, a.state);
        cr_assert_gt(a.position, last);
        cr_assert(shown[i] == 0 || a.position <= shown[i]);
        last = shown[i] = a.position;
        n++;
    }
    cr_assert_eq(last, moved ? n + N_X : n + 400);
}

static void count_one(void *ctx, seg_id host, seg_id seg, uint32_t number)
{
    uint32_t *n = ctx;

    (void)number;
    n[host == 1 && seg == 1 ? 0 : host == 1 && seg == 2 ? 1 : 2]++;
}

Test(xfer, merge_between_nodes_with_the_crowd_going_on)
{
    uint32_t n[3] = { 0 }, alive = 0;

    scene(2);
    order_in();
    cr_assert_eq(r->in_report, MOVE_ACCEPTED);
    rig_order_as(r, 1, RIG_MNG, out_msg());
    while (r->in_report != MOVE_FENCED) {
        cr_assert_neq(r->head, r->tail);
        rig_pump(r, 1);
        churn(1, 25);
    }
    cr_assert_eq(rig_poll(r, 1, 2, 2999).state, PLACE_BUSY, "fenced");
    cr_assert_eq(rig_leave(r, 1, 2, 2999).state, DROP_BUSY);
    rig_pop(r, 1, 2, 2, 5);
    cr_assert(r->popped.busy);
    cr_assert_eq(rig_poll(r, 0, 2, 2999).state, PLACE_UNKNOWN, "not before the commit");
    cr_assert_eq(rig_poll(r, 0, 1, 1).position, 1, "the target serves its own");
    rig_order(r, 0, end_msg(true));
    cr_assert_eq(r->in_report, MOVE_COMMITTED);
    rig_order(r, 0, end_msg(true));
    cr_assert_eq(r->in_report, MOVE_COMMITTED, "again: nothing twice");
    rig_order(r, 1, end_msg(true));
    cr_assert_eq(r->out_report, MOVE_COMMITTED);
    cr_assert_eq(rig_poll(r, 1, 2, 2999).state, PLACE_MOVED);
    cr_assert_eq(rig_poll(r, 1, 2, 2999).moved_to, 1);
    check_line(0, true);
    for (uint32_t i = 0; i < N_Y; i++)
        alive += !left_y[i];
    segtab_each_waiting(r->t[0], count_one, n);
    segtab_each_waiting(r->t[1], count_one, n);
    cr_assert_eq(n[0], N_X);
    cr_assert_eq(n[1], alive);
    cr_assert_eq(n[2], 0);
    cr_assert_eq(rig_poll(r, 0, 2, 0).state, PLACE_ADMITTED, "sessions went along");
    cr_assert_eq(rig_poll(r, 0, 2, 1).state, PLACE_ADMITTED);
    cr_assert_eq(rig_poll(r, 0, 2, N_Y).reason, GONE_LOST);
    cr_assert_eq(rig_poll(r, 0, 2, 700).reason, GONE_EXPIRED);
}

Test(xfer, the_passes_are_the_same_bytes_after_the_move)
{
    struct place_ans a;
    char before[300], after[300];

    scene(2);
    a = rig_poll(r, 1, 2, 0);
    snprintf(before, sizeof(before), "%.*s", a.pass_len, a.pass);
    order_in();
    rig_order(r, 1, out_msg());
    rig_order(r, 0, end_msg(true));
    rig_order(r, 1, end_msg(true));
    a = rig_poll(r, 0, 2, 0);
    snprintf(after, sizeof(after), "%.*s", a.pass_len, a.pass);
    cr_assert_str_eq(before, after);
    cr_assert_not_null(strstr(after, "/uaaa/"), "with the subject");
    cr_assert_str_eq(after + strlen(after) - 2, "1 ", "and with what it is bound to");
}

/* A target that forgets the subjects would give one of them a second ticket. */
Test(xfer, who_joins_again_after_the_move_has_his_ticket)
{
    struct append_ans a;

    scene(2);
    a = rig_join_as(r, 1, 2, "\2\2" "1 uoaa");
    cr_assert(a.state == APPEND_EXISTING && a.number == 14);
    order_in();
    rig_order(r, 1, out_msg());
    rig_order(r, 0, end_msg(true));
    rig_order(r, 1, end_msg(true));
    a = rig_join_as(r, 0, 1, "\2\2" "1 uoaa");
    cr_expect_eq(a.state, APPEND_EXISTING);
    cr_expect(a.seg == 2 && a.number == 14);
}

static enum drop_state give_back(int node, uint64_t how)
{
    struct drop_req q = { .seg = 2, .number = 14, .heir_hash = how };
    struct drop_ans a;

    segtab_drop(r->t[node], r->now, &q, 1, &a);
    return (enum drop_state)a.state;
}

/* Two devices of a person, whose joins of several queues both come to nothing; between them the place moves. The
 * copy has what was counted by the fence: nobody is counted behind it. */
Test(xfer, joins_of_a_place_are_counted_on_after_the_move)
{
    static const char name[] = "\2\2" "1 uoaa";

    scene(2);
    cr_assert_eq(rig_join_as(r, 1, 2, name).counted, APPEND_COUNTED);
    order_in();
    rig_order(r, 1, out_msg());
    cr_expect_eq(rig_join_as(r, 1, 2, name).state, APPEND_BUSY);
    cr_expect_eq(rig_join_as(r, 1, 2, "\2\2" "1 uaaa").state, APPEND_BUSY, "also of one who is inside");
    rig_order(r, 0, end_msg(true));
    rig_order(r, 1, end_msg(true));
    cr_expect_eq(give_back(0, DROP_UNLESS_FOUND), DROP_INSIDE, "another one has found it");
    cr_expect_eq(give_back(0, DROP_UNLESS_KEPT), DROP_INSIDE);
    cr_expect_eq(rig_poll(r, 0, 2, 14).state, PLACE_WAITING);
    cr_expect_eq(give_back(0, DROP_UNLESS_KEPT), DROP_OK);
    cr_expect_eq(rig_poll(r, 0, 2, 14).state, PLACE_GONE);
}

Test(xfer, merge_within_a_node)
{
    struct segtab_counts c;

    scene(1);
    order_in();
    rig_order(r, 0, out_msg());
    cr_assert_eq(r->in_report, MOVE_FENCED);
    cr_assert_eq(rig_poll(r, 0, 2, 2999).state, PLACE_BUSY);
    rig_order(r, 0, end_msg(true));
    cr_assert_eq(r->in_report, MOVE_COMMITTED);
    rig_order(r, 0, end_msg(true));
    cr_assert_eq(r->out_report, MOVE_COMMITTED);
    check_line(0, true);
    segtab_count(r->t[0], &c);
    cr_assert_eq(c.segments, 1);
    cr_assert_leq(c.blocks, 1 + (2390 + 511) / 512 + 1);
}

Test(xfer, pops_go_through_both_halves_in_order)
{
    struct place_ans a;

    scene(1);
    order_in();
    rig_order(r, 0, out_msg());
    rig_order(r, 0, end_msg(true));
    cr_assert_eq(rig_pop(r, 0, 1, 50, N_X + 3), N_X + 3);
    cr_assert_eq(rig_poll(r, 0, 2, 10).state, PLACE_ADMITTED);
    cr_assert_eq(rig_poll(r, 0, 2, 12).state, PLACE_ADMITTED);
    rig_run(r, 100);
    a = rig_poll(r, 0, 2, 13);
    cr_assert_eq(a.state, PLACE_WAITING);
    cr_assert_eq(a.position, 1);
    rig_run(r, 11000);
    cr_assert_eq(rig_poll(r, 0, 2, 10).reason, GONE_FINISHED);
}

Test(xfer, absorbed_segments_move_with_their_target)
{
    scene(2);
    order_in();
    rig_order(r, 1, out_msg());
    rig_order(r, 0, end_msg(true));
    rig_order(r, 1, end_msg(true));
    churn(0, 500);
    rig_open(r, 1, 3, OPEN_TARGET, 4000, 0);
    rig_order(r, 1,
              (struct msg) { .type = MSG_MOVE_IN, .move_in = { 1, 43, 1, 3, 3000 } });
    rig_order(r, 0,
              (struct msg) { .type = MSG_MOVE_OUT,
                             .move_out = { 1, 43, 1, 3, "node1", "x:1" } });
    cr_assert_eq(r->in_report, MOVE_FENCED, "%s", r->why);
    for (int node = 1; node >= 0; node--)
        rig_order(
            r, node,
            (struct msg) { .type = MSG_MOVE_END, .move_end = { 1, 43, 1, 3, true } });
    cr_assert_eq(rig_poll(r, 0, 2, 2999).moved_to, 3);
    cr_assert_eq(rig_poll(r, 0, 1, 1).moved_to, 3);
    check_line(1, true);
    cr_assert_eq(rig_poll(r, 1, 1, 1).position, 1);
    rig_pop(r, 1, 3, 1, N_X + 1);
    cr_assert_eq(rig_poll(r, 1, 1, 399).state, PLACE_ADMITTED);
    for (uint32_t i = 10, seen = 0; seen < 1; i++)
        if (!left_y[i]) {
            cr_assert_eq(rig_poll(r, 1, 2, i).state, PLACE_ADMITTED);
            seen++;
        }
}

/* Whatever happens on the wire: the manager waits a while, then commits if the target is
 * ready, else aborts; and everybody has exactly one place. Returns false once nothing
 * was disturbed any more. */
static bool disturbed(uint32_t lose, uint32_t cut)
{
    uint32_t n[3] = { 0 }, alive = 0;
    bool commit, hit;

    r->lose_at = lose;
    r->cut_at = cut;
    order_in();
    rig_order_as(r, 1, RIG_MNG, out_msg());
    for (int i = 0; i < 200 && r->head != r->tail; i++) {
        rig_pump(r, 1);
        churn(1, 10);
    }
    rig_run(r, 1000);
    commit = r->in_report == MOVE_FENCED;
    hit = r->copies >= (lose > cut ? lose : cut);
    rig_order(r, 0, end_msg(commit));
    rig_order(r, 1, end_msg(commit));
    cr_assert_eq(r->in_report, commit ? MOVE_COMMITTED : MOVE_ABORTED);
    cr_assert_eq(r->out_report, commit ? MOVE_COMMITTED : MOVE_ABORTED);
    check_line(commit ? 0 : 1, commit);
    for (uint32_t i = 0; i < N_Y; i++)
        alive += !left_y[i];
    segtab_each_waiting(r->t[0], count_one, n);
    segtab_each_waiting(r->t[1], count_one, n);
    cr_assert_eq(n[0], N_X);
    cr_assert_eq(n[commit ? 1 : 2], alive);
    cr_assert_eq(n[commit ? 2 : 1], 0);
    return hit;
}

Test(xfer, any_lost_message_aborts_or_does_not_matter)
{
    bool hit = true;

    for (uint32_t k = 1; hit; k++) {
        scene(2);
        hit = disturbed(k, 0);
        cr_assert_lt(k, 100);
        if (hit)
            rig_free(r);
    }
}

Test(xfer, a_broken_link_at_any_message_leaves_one_owner)
{
    bool hit = true;

    for (uint32_t k = 1; hit; k++) {
        scene(2);
        hit = disturbed(0, k);
        cr_assert_lt(k, 100);
        if (hit)
            rig_free(r);
    }
}

Test(xfer, an_abort_ordered_at_any_moment_changes_nothing)
{
    for (uint32_t k = 0; k < 40; k++) {
        scene(2);
        order_in();
        rig_order_as(r, 1, RIG_MNG, out_msg());
        rig_pump(r, k);
        rig_order(r, 0, end_msg(false));
        rig_order(r, 1, end_msg(false));
        cr_assert_eq(r->in_report, MOVE_ABORTED);
        cr_assert_eq(r->out_report, MOVE_ABORTED);
        rig_pump(r, UINT32_MAX);
        check_line(1, false);
        order_in(); /* and it may be tried again */
        rig_order(r, 1, out_msg());
        cr_assert_eq(r->in_report, MOVE_FENCED, "%s", r->why);
        rig_order(r, 0, end_msg(true));
        rig_order(r, 1, end_msg(true));
        check_line(0, true);
        if (k < 39)
            rig_free(r);
    }
}

Test(xfer, a_link_lost_after_the_fence_leaves_it_to_the_manager)
{
    scene(2);
    order_in();
    rig_order(r, 1, out_msg());
    cr_assert_eq(r->in_report, MOVE_FENCED);
    rig_cut(r);
    for (int i = 0; i < 40; i++) {
        rig_poll_all(r, 0, 1, 400);
        rig_run(r, 1000);
    }
    cr_assert_eq(r->status[2].move, MOVE, "both still know it");
    cr_assert_eq(r->status[1].move, MOVE);
    cr_assert_eq(rig_poll(r, 1, 2, 2999).state, PLACE_BUSY);
    cr_assert_eq(r->in_report, MOVE_FENCED, "reported again and again");
    rig_order(r, 0, end_msg(true));
    rig_order(r, 1, end_msg(true));
    check_line(0, true);
}

Test(xfer, an_abort_after_a_long_fence_expires_nobody)
{
    scene(2);
    order_in();
    rig_order(r, 1, out_msg());
    for (int i = 0; i < 90; i++) {
        rig_poll_all(r, 0, 1, 400);
        rig_run(r, 1000);
    }
    rig_order(r, 0, end_msg(false));
    rig_order(r, 1, end_msg(false));
    rig_run(r, 1500);
    cr_assert_eq(r->status[2].ready, 9, "nor is a claim over");
    cr_assert_eq(rig_poll(r, 1, 2, 1).position, 1,
                 "its pass would be: back to the front");
    rig_pop(r, 1, 2, 2, 1);
    check_line(1, false);
}

Test(xfer, dialling_is_asked_for_and_its_failure_reported)
{
    struct node_want w[4];

    scene(2);
    rig_cut(r);
    order_in();
    rig_order(r, 1, out_msg());
    cr_assert_eq(segtab_wanted(r->t[1], w, 4), 1);
    cr_assert_str_eq(w[0].name, "node0");
    cr_assert_str_eq(w[0].addr, "127.0.0.1:1");
    rig_link(r);
    cr_assert_eq(r->in_report, MOVE_FENCED);
    rig_order(r, 0, end_msg(false));
    rig_order(r, 1, end_msg(false));
    cr_assert_eq(segtab_wanted(r->t[1], w, 4), 0);
    rig_cut(r);
    rig_order(r, 1, out_msg());
    rig_step(r, 1, (struct segtab_in) { .kind = SEGTAB_DIAL_FAIL, .name = "node0" });
    rig_pump(r, UINT32_MAX);
    cr_assert_eq(r->out_report, MOVE_ABORTED);
    check_line(1, false);
}

Test(xfer, impossible_moves_are_refused)
{
    scene(2);
    rig_open(r, 0, 9, OPEN_TAIL, 10, 0);
    rig_order(r, 0, (struct msg) { .type = MSG_MOVE_IN, .move_in = { 1, 50, 2, 9, 1 } });
    cr_assert_eq(r->in_report, MOVE_ABORTED, "the target is open");
    rig_order(r, 0,
              (struct msg) { .type = MSG_MOVE_IN, .move_in = { 1, 51, 2, 1, 1u << 21 } });
    cr_assert_eq(r->in_report, MOVE_ABORTED, "no room");
    rig_order(r, 0, (struct msg) { .type = MSG_MOVE_IN, .move_in = { 1, 52, 2, 77, 1 } });
    cr_assert_eq(r->in_report, MOVE_ABORTED, "no target");
    rig_order(r, 1, out_msg());
    cr_assert_eq(r->out_report, MOVE_ABORTED, "the target was told nothing");
    check_line(1, false);
}
