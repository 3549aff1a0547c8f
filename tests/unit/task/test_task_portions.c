/* test_task_portions.c: what is long waits until its link has room; what is short, and other links, do not. */
#include "tests/unit/task/tablerig.h"

#include "task/node/state.h"

TestSuite(task_portions, .init = setup, .fini = teardown);

#define LONG 60000

static void has_sent(peer_no no, uint64_t handed, size_t unsent)
{
    tasktab_link(t, now, no, handed, unsent);
}

static void fill(peer_no no)
{
    has_sent(no, 0, LINK_PORTION);
}

static task_no put(void)
{
    task_no no = put_at(3, 8, "q", "body").no;

    turn();
    return no;
}

static void end(const struct taken_row *k)
{
    static uint8_t bytes[LONG];
    struct settle_row r = { 3, 8, SETTLE_ACK, k->no, k->lease, 0, { LONG, bytes }, { 0 }, { 0 } };

    send(RTR2, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { 1, &r, { 0 } } });
    cr_assert_eq(answer(next_rid)->task_settle_ans.v[0].code, CODE_DONE);
    turn();
}

static task_no one_that_is_over(void)
{
    task_no no = put();
    struct taken_row k = take(RTR2, "q", 1, 0)->v[0];

    end(&k);
    return no;
}

static void look(peer_no from, task_no no, bool result, uint32_t wait_ms)
{
    send(from, &(struct msg){ .type = MSG_TASK_GET, .task_get = { 3, 8, no, "", "", wait_ms, result } });
}

/* Answers with bytes, in this outbox; of the last: *rid. */
static unsigned let_go(uint64_t *rid)
{
    unsigned n = 0;

    outbox_reset(&out);
    cr_assert_null(tasktab_let_go(t, now, &out));
    for (uint32_t i = 0; i < out.n; i++) {
        const struct out_item *o = &out.v[i];

        cr_assert(o->m.type == MSG_TASK_GET_ANS);
        n += o->m.task_get_ans.result.n > 0;
        cr_assert(n == 0 || *rid == 0 || o->rid == *rid + 1, "the oldest goes first");
        *rid = o->rid;
    }
    return n;
}

Test(task_portions, what_is_short_does_not_wait_nor_does_another_link)
{
    task_no no;
    uint64_t rid = 0;

    open_part(3, 8);
    no = one_that_is_over();
    fill(RTR);
    look(RTR, no, true, 0);
    cr_assert_null(answer(next_rid));
    cr_expect(tasktab_wants_room(t, RTR) && !tasktab_wants_room(t, RTR2));
    look(RTR, no, false, 0);
    cr_expect_eq(answer(next_rid)->task_get_ans.state, TASK_SUCCEEDED);
    look(RTR, no + 1000, true, 0);
    cr_expect_eq(answer(next_rid)->task_get_ans.code, CODE_UNKNOWN);
    put();
    look(RTR2, no, true, 0);
    cr_expect_eq(answer(next_rid)->task_get_ans.result.n, LONG);
    cr_expect_eq(let_go(&rid), 0);
    has_sent(RTR, 0, LINK_PORTION - 1);
    cr_expect_eq(let_go(&rid), 1);
    cr_expect(!tasktab_wants_room(t, RTR));
}

Test(task_portions, results_leave_in_portions_and_in_order)
{
    enum { N = 200 };
    uint64_t rid = 0;
    unsigned n = 0, portions = 0, got;
    task_no no;

    open_part(3, 8);
    no = one_that_is_over();
    fill(RTR);
    for (unsigned i = 0; i < N; i++) {
        look(RTR, no, true, 0);
        cr_assert_null(answer(next_rid));
    }
    for (; n < N; n += got, portions++) {
        uint64_t rid_was = rid;

        has_sent(RTR, (uint64_t)n * LONG, 0);
        got = let_go(&rid);
        cr_assert_gt(got, 0);
        cr_assert_leq((got - 1) * LONG, LINK_PORTION);
        cr_assert_eq(let_go(&rid_was), 0, "what was said is on its way, in an outbox at least");
    }
    cr_expect_eq(rid, next_rid);
    cr_expect_gt(portions, 2);
}

Test(task_portions, who_waited_for_the_end_waits_on_for_room)
{
    struct taken_row k;
    uint64_t rid = 0, waits;

    open_part(3, 8);
    put();
    k = take(RTR2, "q", 1, 0)->v[0];
    look(RTR, k.no, true, 60000);
    waits = next_rid;
    fill(RTR);
    end(&k);
    cr_assert_null(answer(waits));
    pass(100000); /* beyond its time: it has its answer already */
    cr_assert_null(answer(waits));
    has_sent(RTR, 0, 0);
    cr_expect_eq(let_go(&rid), 1);
    cr_expect_eq(rid, waits);
}

Test(task_portions, a_link_or_a_partition_that_goes_leaves_nothing)
{
    uint64_t rid = 0;
    task_no no;

    open_part(3, 8);
    no = one_that_is_over();
    fill(RTR);
    fill(RTR2);
    look(RTR, no, true, 0);
    look(RTR2, no, true, 0);
    tasktab_down(t, RTR);
    outbox_reset(&out);
    tasktab_lost(t, 3, &out);
    cr_assert_eq(out.n, 0);
    has_sent(RTR2, 0, 0);
    cr_expect_eq(let_go(&rid), 0);
    cr_expect_eq(out.n, 1);
    cr_expect_eq(answer(next_rid)->task_get_ans.code, CODE_STALE);
}

Test(task_portions, more_than_a_link_may_have_waiting_are_told_to_come_again)
{
    task_no no;

    open_part(3, 8);
    no = one_that_is_over();
    fill(RTR);
    for (unsigned i = 0; i < WAITS_PER_LINK; i++)
        look(RTR, no, true, 0);
    cr_assert_null(answer(next_rid));
    look(RTR, no, true, 0);
    cr_expect_eq(answer(next_rid)->task_get_ans.code, CODE_BUSY);
}

Test(task_portions, so_is_who_waited_for_an_end_behind_them)
{
    struct taken_row k;
    uint64_t waits;
    task_no no;

    open_part(3, 8);
    no = one_that_is_over();
    put();
    k = take(RTR2, "q", 1, 0)->v[0];
    look(RTR, k.no, true, 60000);
    waits = next_rid;
    fill(RTR);
    for (unsigned i = 0; i < WAITS_PER_LINK; i++)
        look(RTR, no, true, 0);
    end(&k);
    cr_assert_not_null(answer(waits));
    cr_expect_eq(answer(waits)->task_get_ans.code, CODE_BUSY);
    cr_expect_eq(answer(waits)->task_get_ans.result.n, 0);
}

Test(task_portions, no_task_starts_that_nobody_can_carry)
{
    const struct msg_task_take_ans *a;
    uint64_t waits;
    task_no no;

    open_part(3, 8);
    fill(RTR);
    cr_assert_null(take(RTR, "q", 1, 60000));
    waits = next_rid;
    no = put();
    cr_assert_null(answer(waits));
    a = take(RTR, "q", 1, 0);
    cr_expect(a != NULL && a->code == CODE_DONE && a->n == 0);
    look(RTR, no, false, 0);
    cr_expect_eq(answer(next_rid)->task_get_ans.state, TASK_WAITING);
    turn();
    outbox_reset(&out);
    has_sent(RTR, 0, 0);
    turn();
    cr_assert_not_null(answer(waits));
    cr_expect_eq(answer(waits)->task_take_ans.n, 1);
}

Test(task_portions, a_worker_behind_another_router_is_not_held)
{
    uint64_t waits;

    open_part(3, 8);
    fill(RTR);
    cr_assert_null(take(RTR, "q", 1, 60000));
    cr_assert_null(take(RTR2, "q", 1, 60000));
    waits = next_rid;
    put_at(3, 8, "q", "body");
    outbox_reset(&out);
    turn();
    cr_assert_not_null(answer(waits), "although another one has waited for longer");
    cr_expect_eq(answer(waits)->task_take_ans.n, 1);
}

Test(task_portions, a_worker_gets_its_task_also_if_room_came_during_a_hold)
{
    uint64_t waits;

    open_part(3, 8);
    fill(RTR);
    cr_assert_null(take(RTR, "q", 1, 60000));
    waits = next_rid;
    put();
    tasktab_part_hold(t, 3, true);
    has_sent(RTR, 0, 0);
    turn();
    tasktab_part_hold(t, 3, false);
    outbox_reset(&out);
    cr_expect_eq(tasktab_idle_ms(t, now), 0);
    has_sent(RTR, 0, 0);
    turn();
    cr_assert_not_null(answer(waits));
    cr_expect_eq(answer(waits)->task_take_ans.n, 1);
}
