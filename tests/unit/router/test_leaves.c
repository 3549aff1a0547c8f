/* test_leaves.c: who has left, by the word of a node that is not reached any more. */
#include "router/replica/replicas.h"

#include "tests/lib/flowrig.h"

#define NODE 2

static struct replicas all;

static void begin(void)
{
    setup();
    replicas_init(&all, 250, 15000, 7);
}

static void end(void)
{
    replicas_fini(&all);
    teardown();
}

TestSuite(leaves, .init = begin, .fini = end);

static struct token ticket(uint32_t number)
{
    return (struct token) { .seg = 12, .number = number };
}

static void note(uint32_t number, msec_t now_ms)
{
    struct token t = ticket(number);

    leaves_note(&all.leaves, NODE, &t, now_ms);
}

static bool is_left(uint32_t number)
{
    struct token t = ticket(number);

    return leaves_has(&all.leaves, &t);
}

Test(leaves, count_once_the_node_is_not_reached)
{
    static struct left_row v[MSG_LEFT_MAX];

    note(3, 1000);
    note(4, 2000);
    cr_expect_not(is_left(3), "the node knows it");
    cr_expect_eq(leaves_rows(&all.leaves, LEAVES_ALL, 2000, v), 0);
    cr_expect_not(leaves_away(&all.leaves, NODE + 1, 2000), "another one");
    cr_expect(leaves_away(&all.leaves, NODE, 1000 + LEAVES_RECENT_MS));
    cr_expect(!is_left(3) && is_left(4), "too long ago, and just in time");
    cr_expect_not(leaves_away(&all.leaves, NODE, 1000 + LEAVES_RECENT_MS), "no news");
    cr_expect_eq(leaves_rows(&all.leaves, LEAVES_ALL, 1000 + LEAVES_RECENT_MS, v), 1);
    cr_expect(v[0].seg == 12 && v[0].number == 4);
    cr_expect_eq(leaves_rows(&all.leaves, LEAVES_ALL, 2000 + LEAVES_RECENT_MS, v), 0);
}

/* Else each leave would have a manager hear the last 4096 again, and pass them on. */
Test(leaves, are_told_once_while_the_link_to_the_manager_lives)
{
    static struct left_row v[MSG_LEFT_MAX];

    note(3, 1000);
    cr_expect(leaves_away(&all.leaves, NODE, 1000));
    cr_expect_eq(leaves_rows(&all.leaves, LEAVES_NEWS, 1000, v), 1);
    note(4, 2000);
    cr_expect(leaves_away(&all.leaves, NODE, 2000));
    cr_expect_eq(leaves_rows(&all.leaves, LEAVES_NEWS, 2000, v), 1);
    cr_expect_eq(v[0].number, 4);
    cr_expect_eq(leaves_rows(&all.leaves, LEAVES_ALL, 2000, v), 2, "a manager that has just come");
}

Test(leaves, the_last_ones_are_noted)
{
    static struct left_row v[MSG_LEFT_MAX];

    for (uint32_t i = 0; i <= LEAVES_MAX; i++)
        note(i, 1000);
    cr_expect(leaves_away(&all.leaves, NODE, 1000));
    cr_expect_eq(leaves_rows(&all.leaves, LEAVES_ALL, 1000, v), LEAVES_MAX);
    cr_expect(!is_left(0) && is_left(1) && is_left(LEAVES_MAX));
}

/* Routers tell what they like: the bound is one of all together. */
Test(leaves, that_others_tell_are_so_many_at_most)
{
    static struct left_row v[MSG_LEFT_MAX];
    struct left_row more = { 13, 1 };

    for (uint32_t k = 0; k < 12; k++) {
        for (uint32_t i = 0; i < MSG_LEFT_MAX; i++)
            v[i] = (struct left_row) { 12, k * MSG_LEFT_MAX + i };
        leaves_heard(&all.leaves, &(struct msg_left) { MSG_LEFT_MAX, v }, 1000);
    }
    cr_expect_eq(all.leaves.told.n, LEAVES_TOLD_MAX);
    leaves_heard(&all.leaves, &(struct msg_left) { 1, &more }, 1000 + (LEAVES_KEEP_S + 1) * 1000);
    cr_expect(leaves_has(&all.leaves, &(struct token) { .seg = 13, .number = 1 }), "when others are over");
}

/* The repetition of a leave ends like any leave: no router has news to tell because of it. */
Test(leaves, that_are_told_are_not_noted_again)
{
    static struct left_row v[MSG_LEFT_MAX];
    struct left_row row = { 12, 4 };

    leaves_heard(&all.leaves, &(struct msg_left) { 1, &row }, 1000);
    note(5, 1000);
    for (unsigned i = 0; i < LEAVES_MAX; i++)
        note(4, 2000);
    cr_expect(leaves_away(&all.leaves, NODE, 2000), "a leave that nobody knows is kept");
    cr_expect_eq(leaves_rows(&all.leaves, LEAVES_ALL, 2000, v), 1);
    cr_expect_eq(v[0].number, 5);
}

Test(leaves, a_poll_of_who_has_left_is_answered_without_the_node)
{
    struct left_row row = { 12, 4 };
    struct msg_left m = { 1, &row };
    struct token t = ticket(4), other = ticket(5);
    struct flow f;

    leaves_heard(&all.leaves, &m, 1000);
    flow_poll(&f, r, &all, &t, 1000);
    cr_expect(IS_DONE(f, FLOW_GONE) && f.reason == GONE_LEFT);
    cr_expect_eq(all.polls[BY_LEFT], 1);
    flow_poll(&f, r, &all, &other, 1000);
    cr_expect(ASKS(f, NODE, 12));
}

static bool begins(struct flow *f, msec_t now_ms)
{
    uint32_t i = 0;

    return flow_leave_again(f, r, &all, &i, now_ms);
}

Test(leaves, are_repeated_at_each_node_that_has_their_segment)
{
    struct stream *st = replicas_stream(&all, NODE), *heirs = replicas_stream(&all, 1);
    struct map_seg moved[] = { { 12, 1, SEG_OPEN, 0 } };
    struct map_lane other = { "default", 1, 0, moved, NULL };
    struct token t = ticket(4);
    struct flow f;

    note(4, 1000);
    cr_expect(leaves_away(&all.leaves, NODE, 1000));
    cr_expect_not(begins(&f, 1000), "it is away");
    stream_up(st, 2000);
    cr_assert(begins(&f, 2000));
    cr_expect(ASKS(f, NODE, 12) && f.asks == FLOW_LEAVE && flow_ticket(&f)->number == 4);
    cr_expect_not(begins(&f, 2000), "it is under way");
    leaves_again(&all.leaves, &t);
    cr_expect(begins(&f, 2100), "it was not taken");
    cr_expect_not(begins(&f, 2200));
    leaves_link_lost(&all.leaves, NODE);
    cr_expect(begins(&f, 3100), "may have lost it");
    stream_up(heirs, 4000);
    apply(r, 2, QUEUE_OPEN, &other);
    cr_expect(begins(&f, 4000) && ASKS(f, 1, 12), "another node brings it back");
    cr_expect_not(begins(&f, 1000 + LEAVES_KEEP_S * 1000));
    cr_expect_not(is_left(4), "forgotten");
}

/* As long as a router reaches it, the node has what it answered. */
Test(leaves, are_repeated_once_where_the_manager_alone_does_not_reach_the_node)
{
    struct silent_node silent = { NODE, 3000 };
    struct msg_stats m = { .reach = true, .n_unreached = 1, .unreached = &silent };
    struct flow f;

    stream_up(replicas_stream(&all, NODE), 1000);
    note(4, 1000);
    cr_expect(replicas_reach(&all, &m, 1500));
    cr_expect(begins(&f, 1500));
    cr_expect_not(replicas_reach(&all, &m, 2500));
    cr_expect_not(begins(&f, 2500));
}

Test(leaves, a_replaced_ticket_has_left_and_one_that_is_inside_has_not)
{
    struct flow f = { .kind = FLOW_JOIN, .result = FLOW_OK, .old = ticket(3), .old_node = NODE };
    node_no node;

    cr_expect(flow_saw_leave(&f, &node) == &f.old && node == NODE);
    f.result = FLOW_INSIDE;
    cr_expect_null(flow_saw_leave(&f, &node));
    f = (struct flow) { .kind = FLOW_POLL, .result = FLOW_GONE, .reason = GONE_EXPIRED, .node = NODE };
    cr_expect_null(flow_saw_leave(&f, &node));
    f.reason = GONE_LEFT;
    cr_expect_not_null(flow_saw_leave(&f, &node));
}
