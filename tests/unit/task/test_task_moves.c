/* test_task_moves.c: a partition's copy between two tables (task/node/part_copy.h): what
 * is copied, what a fence does, what survives a restart, what is refused. */
#include "tests/lib/criterion.h"
#include <sodium.h>

#include "common/base/log.h"
#include "common/task/call.h"
#include "common/ticket/token.h"
#include "task/engine/look.h"
#include "task/engine/worker.h"
#include "task/node/body.h"
#include "tests/unit/task/twotables.h"

static void open_part(int i, uint64_t epoch, bool had)
{
    say(i, MNG, &(struct msg){ .type = MSG_PART_OPEN,
                               .part_open = { EPOCH, 3, epoch, "q*", 0, NULL, 100, false, had } });
    turn(i);
}

static void order_out(uint64_t to_epoch)
{
    say(A, MNG, &(struct msg){ .type = MSG_PART_OUT,
                               .part_out = { EPOCH, 3, 8, to_epoch, "b", "10.0.0.2:1" } });
    turn(A);
}

static uint8_t put(int i, uint64_t epoch, const char *body)
{
    struct task_put one = { .part = 3, .epoch = epoch, .queue = "q", .key1 = "", .key2 = "",
                            .name = "", .digest = strlen(body),
                            .body = { (uint32_t)strlen(body), (const uint8_t *)body } };

    say(i, RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    return said(i, MSG_TASK_PUT_ANS)->task_put_ans.v[0].code;
}

static const struct msg_task_take_ans *take(int i, uint64_t epoch, uint32_t wait_ms)
{
    say(i, RTR, &(struct msg){ .type = MSG_TASK_TAKE,
                               .task_take = { 3, epoch, "q", 1, 60000, wait_ms } });
    return said(i, MSG_TASK_TAKE_ANS) != NULL ? &said(i, MSG_TASK_TAKE_ANS)->task_take_ans : NULL;
}

static uint8_t life(int i)
{
    const struct part *p = tasktab_part(rig[i].t, 3);

    return p == NULL ? 99 : p->life;
}

static void setup(void)
{
    cr_assert_geq(sodium_init(), 0);
    log_set_level(LOG_ERROR);
    now = (struct task_now){ 1700000000000, 1700000000000 };
    b_ahead = 0;
    for (int i = A; i <= B; i++) {
        outbox_init(&out[i]);
        tabrig_new(&rig[i]);
        up(i);
        say(i, MNG, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH, 1, 77 } });
    }
    open_part(A, 8, false);
    cr_assert_eq(put(A, 8, "one"), CODE_DONE);
    cr_assert_eq(put(A, 8, "two"), CODE_DONE);
    turn(A);
}

static void teardown(void)
{
    for (int i = A; i <= B; i++) {
        tabrig_fini(&rig[i]);
        outbox_fini(&out[i]);
    }
}

TestSuite(task_moves, .init = setup, .fini = teardown);

static void copy_all(void)
{
    order_out(9);
    link_up();
    for (int i = 0; i < 12; i++)
        both();
    cr_assert_eq(life(A), PART_FENCED);
    cr_assert_eq(life(B), PART_COME);
}

Test(task_moves, a_link_to_the_target_is_wanted_while_it_is_copied)
{
    struct node_want v[4];

    cr_assert_eq(tasktab_wants(rig[A].t, v, 4), 0);
    order_out(9);
    cr_assert_eq(tasktab_wants(rig[A].t, v, 4), 1);
    cr_expect_str_eq(v[0].name, "b");
    cr_expect_str_eq(v[0].addr, "10.0.0.2:1");
    open_part(A, 10, true);
    cr_expect_eq(tasktab_wants(rig[A].t, v, 4), 0);
}

Test(task_moves, what_was_there_and_what_came_meanwhile_is_at_the_target)
{
    const struct msg_task_take_ans *a = take(A, 8, 0);
    struct settle_row r = { 3, 9, SETTLE_ACK, a->v[0].no, a->v[0].lease, 0,
                            { 2, (const uint8_t *)"ok" }, { 0 }, { 0 } };

    order_out(9);
    link_up();
    both(); /* BEGIN */
    cr_assert_eq(put(A, 8, "three"), CODE_DONE);
    for (int i = 0; i < 12; i++)
        both();
    open_part(B, 9, true);
    cr_expect_eq(life(B), PART_OWNED);
    cr_expect_eq(put(B, 9, "four"), CODE_DONE);
    say(B, RTR, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { 1, &r, { 0 } } });
    cr_expect_eq(said(B, MSG_TASK_SETTLE_ANS)->task_settle_ans.v[0].code, CODE_DONE,
                 "the lease of before the move");
    for (const char *const *want = (const char *const[]){ "two", "three", "four", NULL };
         *want != NULL; want++) {
        a = take(B, 9, 0);
        cr_assert_eq(a->n, 1);
        cr_expect_eq(a->v[0].body.n, strlen(*want));
        cr_expect_arr_eq(a->v[0].body.p, *want, strlen(*want));
    }
}

Test(task_moves, an_ack_that_is_repeated_at_the_target_is_the_same)
{
    const struct msg_task_take_ans *a = take(A, 8, 0);
    struct settle_row r = { 3, 8, SETTLE_ACK, a->v[0].no, a->v[0].lease, 0,
                            { 2, (const uint8_t *)"ok" }, { 0 }, { 0 } };

    say(A, RTR, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { 1, &r, { 0 } } });
    cr_assert_eq(said(A, MSG_TASK_SETTLE_ANS)->task_settle_ans.v[0].code, CODE_DONE);
    turn(A); /* its answer is lost */
    copy_all();
    open_part(B, 9, true);
    r.epoch = 9;
    say(B, RTR, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { 1, &r, { 0 } } });
    cr_expect_eq(said(B, MSG_TASK_SETTLE_ANS)->task_settle_ans.v[0].code, CODE_SAME);
}

/* The number of the start, which nobody outside knows. */
static uint64_t start_of(int i, task_no no)
{
    const struct task_store *s = &tasktab_part(rig[i].t, 3)->e.store;

    return task_at(s, task_find(s, no))->lease;
}

/* The task that is taken is dead: the target has said this last. */
static task_no die(const char *reply)
{
    struct part *p = tasktab_part(rig[A].t, 3);
    const struct msg_task_take_ans *a = take(A, 8, 0);
    struct call_failed f = { .for_good = true, .how.end = ATTEMPT_STATUS };
    struct buf b;

    buf_init(&b);
    reply_pack(&(struct reply){ .status = 404, .type = "text/plain", .type_n = 10 }, &b);
    result_pack((const uint8_t *)reply, (uint32_t)strlen(reply), 100, &b);
    cr_assert_eq(tabrig_put((void *)&rig[A], b.data, (uint32_t)b.len, &f.reply), 0);
    buf_fini(&b);
    cr_assert_eq(engine_call_failed(&p->e, a->v[0].no, start_of(A, a->v[0].no), &f), 0);
    return a->v[0].no;
}

static void expect_reply(int i, uint64_t epoch, task_no no, const char *reply)
{
    const struct msg_task_get_ans *m;

    say(i, RTR, &(struct msg){ .type = MSG_TASK_GET,
                               .task_get = { 3, epoch, no, "", "", 0, true } });
    m = &said(i, MSG_TASK_GET_ANS)->task_get_ans;
    cr_assert_eq(m->code, CODE_DONE);
    cr_expect_eq(m->state, TASK_DEAD);
    cr_expect_eq(m->status, 404);
    cr_expect_str_eq(m->content_type, "text/plain");
    cr_assert_eq(m->result.n, strlen(reply));
    cr_expect_arr_eq(m->result.p, reply, strlen(reply));
}

Test(task_moves, what_a_dead_task_was_answered_is_at_the_target)
{
    task_no before = die("never"), meanwhile;

    turn(A);
    order_out(9);
    link_up();
    both(); /* BEGIN */
    meanwhile = die("neither");
    for (int i = 0; i < 12; i++)
        both();
    open_part(B, 9, true);
    expect_reply(B, 9, before, "never");
    expect_reply(B, 9, meanwhile, "neither");
    (void)tabrig_again(&rig[B], now);
    up(B);
    expect_reply(B, 9, before, "never");
    say(B, RTR, &(struct msg){ .type = MSG_TASK_CHANGE,
                               .task_change = { 3, 9, CHANGE_DISCARD, before, "", "", { 0 } } });
    turn(B);
    cr_expect_eq(rig[B].dropped, 2, "its body and its reply");
}

/* The target of a call says how it ended, at a node that has the partition under this epoch. */
static uint8_t complete(int i, uint64_t epoch, const struct attempt_right *r, enum task_complete verb)
{
    say(i, RTR, &(struct msg){ .type = MSG_TASK_COMPLETE, .task_complete = {
                    .part = r->part, .epoch = epoch, .no = r->no, .lease = r->lease,
                    .attempt = r->attempt, .right = { RIGHT_MAC_BYTES, r->mac },
                    .verb = (uint8_t)verb, .ms = 60000, .status = 201, .content_type = "text/plain",
                    .result = { 3, (const uint8_t *)"yes" } } });
    return said(i, MSG_TASK_COMPLETE_ANS)->task_complete_ans.code;
}

static struct attempt_right right_of(int i, const struct taken_row *row)
{
    struct attempt_right r = { .part = 3, .no = row->no, .lease = start_of(i, row->no),
                               .attempt = (uint8_t)row->attempt };

    right_sign(&r, tasktab_part(rig[i].t, 3)->seed);
    return r;
}

Test(task_moves, a_target_that_is_still_at_it_is_heard_by_the_new_owner)
{
    struct attempt_right r = right_of(A, &take(A, 8, 0)->v[0]), forged = r;

    cr_expect_eq(complete(A, 8, &r, COMPLETE_EXTEND), CODE_DONE);
    copy_all();
    cr_expect_eq(complete(A, 8, &r, COMPLETE_SUCCEEDED), CODE_STALE);
    open_part(B, 9, true);
    cr_expect_eq(complete(B, 9, &r, COMPLETE_EXTEND), CODE_DONE);
    (void)tabrig_again(&rig[B], now);
    up(B);
    forged.attempt++;
    cr_expect_eq(complete(B, 9, &forged, COMPLETE_SUCCEEDED), CODE_INVALID);
    cr_expect_eq(complete(B, 9, &r, COMPLETE_SUCCEEDED), CODE_DONE);
    cr_expect_eq(complete(B, 9, &r, COMPLETE_SUCCEEDED), CODE_SAME);
    cr_expect_eq(complete(B, 9, &r, COMPLETE_DEAD), CODE_CONFLICT);
    turn(B);
    (void)tabrig_again(&rig[B], now);
    up(B);
    cr_expect_eq(complete(B, 9, &r, COMPLETE_SUCCEEDED), CODE_SAME);
    say(B, RTR, &(struct msg){ .type = MSG_TASK_GET,
                               .task_get = { 3, 9, r.no, "", "", 0, true } });
    cr_expect_eq(said(B, MSG_TASK_GET_ANS)->task_get_ans.status, 201);
    cr_expect_arr_eq(said(B, MSG_TASK_GET_ANS)->task_get_ans.result.p, "yes", 3);
}

Test(task_moves, a_target_that_has_stopped_gives_back_what_a_cut_task_holds)
{
    struct attempt_right r = right_of(A, &take(A, 8, 0)->v[0]), other = r;
    struct part *p;

    other.attempt++;
    right_sign(&other, tasktab_part(rig[A].t, 3)->seed);
    cr_expect_eq(complete(A, 8, &r, COMPLETE_EXTEND), CODE_DONE);
    say(A, RTR, &(struct msg){ .type = MSG_TASK_CHANGE,
                               .task_change = { .part = 3, .epoch = 8, .no = r.no,
                                                .verb = CHANGE_CANCEL,
                                                .queue = "", .name = "", .force = true } });
    turn(A);
    copy_all();
    open_part(B, 9, true);
    p = tasktab_part(rig[B].t, 3);
    cr_expect_eq(complete(B, 9, &r, COMPLETE_EXTEND), CODE_CONFLICT);
    cr_expect_eq(complete(B, 9, &other, COMPLETE_DEAD), CODE_CONFLICT);
    cr_expect_eq(p->e.cuts, 1, "it may still be at it");
    cr_expect_eq(complete(B, 9, &r, COMPLETE_DEAD), CODE_CONFLICT);
    cr_expect_eq(p->e.cuts, 0);
    turn(B);
    (void)tabrig_again(&rig[B], now);
    cr_expect_eq(tasktab_part(rig[B].t, 3)->e.cuts, 0);
}

Test(task_moves, what_a_target_says_again_is_the_same_also_of_what_was_to_stop)
{
    struct attempt_right r[2];
    const enum task_complete verb[2] = { COMPLETE_FAILED, COMPLETE_DEAD };

    for (int i = 0; i < 2; i++) {
        r[i] = right_of(A, &take(A, 8, 0)->v[0]);
        say(A, RTR, &(struct msg){ .type = MSG_TASK_CHANGE, .task_change = {
                        3, 8, CHANGE_CANCEL, r[i].no, "", "", { 0 } } });
        cr_expect_eq(complete(A, 8, &r[i], verb[i]), CODE_DONE);
        cr_expect_eq(said(A, MSG_TASK_COMPLETE_ANS)->task_complete_ans.state, TASK_CANCELLED);
        cr_expect_eq(complete(A, 8, &r[i], verb[i]), CODE_SAME);
        cr_expect_eq(complete(A, 8, &r[i], COMPLETE_SUCCEEDED), CODE_CONFLICT);
    }
}

Test(task_moves, what_comes_while_much_is_on_its_way_is_at_the_target)
{
    static char big[256 << 10];
    bool under_way = false;

    memset(big, 'b', sizeof(big) - 1);
    for (int i = 0; i < 12; i++) /* more chunks than may be on their way */
        cr_assert_eq(put(A, 8, big), CODE_DONE);
    turn(A);
    order_out(9);
    link_up();
    for (int i = 0; i < 30 && life(B) != PART_COME; i++) {
        if (!under_way && said(A, MSG_PCOPY_CHUNK) != NULL) {
            under_way = true;
            cr_assert_eq(life(A), PART_OWNED);
            cr_assert_eq(put(A, 8, "late"), CODE_DONE);
        }
        both();
    }
    cr_assert(under_way);
    open_part(B, 9, true);
    for (int i = 0; i < 2 + 12; i++)
        cr_assert_eq(take(B, 9, 0)->n, 1);
    cr_assert_eq(take(B, 9, 0)->n, 1, "the one that came late");
}

Test(task_moves, a_fence_sends_everybody_to_the_new_owner)
{
    (void)take(A, 8, 0);
    (void)take(A, 8, 0);
    outbox_reset(&out[A]);
    cr_assert_null(take(A, 8, 60000), "it waits");
    order_out(9);
    link_up();
    for (int i = 0; i < 12 && life(A) == PART_OWNED; i++)
        both();
    cr_assert_not_null(said(A, MSG_TASK_TAKE_ANS));
    cr_expect_eq(said(A, MSG_TASK_TAKE_ANS)->task_take_ans.code, CODE_STALE);
    cr_expect_eq(put(A, 8, "late"), CODE_STALE);
    cr_expect_eq(tasktab_idle_ms(rig[A].t, now), MSEC_NEVER, "its clock stands");
}

Test(task_moves, a_fence_survives_a_restart_and_ends_by_a_higher_epoch_alone)
{
    copy_all();
    tabrig_again(&rig[A], now);
    up(A);
    cr_assert_eq(life(A), PART_FENCED);
    open_part(A, 8, true);
    open_part(A, 9, true);
    cr_expect_eq(life(A), PART_FENCED);
    open_part(A, 10, true);
    cr_expect_eq(life(A), PART_OWNED);
    cr_expect_eq(put(A, 10, "three"), CODE_DONE);
}

Test(task_moves, a_whole_copy_survives_a_restart_and_opens_by_its_epoch_alone)
{
    copy_all();
    tabrig_again(&rig[B], now);
    up(B);
    cr_assert_eq(life(B), PART_COME);
    cr_expect_eq(put(B, 9, "early"), CODE_STALE);
    open_part(B, 10, true);
    cr_expect_eq(life(B), PART_COME);
    open_part(B, 9, true);
    cr_expect_eq(life(B), PART_OWNED);
    cr_expect_eq(take(B, 9, 0)->n, 1);
}

Test(task_moves, a_copy_that_is_not_whole_goes_with_the_process)
{
    order_out(9);
    link_up();
    while (life(B) == 99)
        both();
    cr_assert_eq(life(B), PART_COMING);
    cr_expect(tasktab_is_receiving(rig[B].t));
    open_part(B, 9, true);
    cr_expect_eq(life(B), PART_COMING, "it is not opened");
    tabrig_again(&rig[B], now);
    cr_expect_eq(life(B), 99);
}

Test(task_moves, a_copy_begins_anew_with_the_next_link)
{
    order_out(9);
    link_up();
    both();
    both();
    both();
    link_down();
    outbox_reset(&out[A]);
    outbox_reset(&out[B]);
    cr_assert_neq(life(B), PART_COME);
    link_up();
    for (int i = 0; i < 12; i++)
        both();
    cr_expect_eq(life(B), PART_COME);
    cr_expect_eq(tasktab_part_tasks(tasktab_part(rig[B].t, 3)), 2);
    cr_expect_eq(rig[B].n_bodies - rig[B].dropped, 2, "bodies of the first try have gone");
}

Test(task_moves, a_target_without_room_refuses_and_the_source_says_that_it_is_stuck)
{
    tasktab_full(rig[B].t, true);
    order_out(9);
    link_up();
    for (int i = 0; i < 5; i++)
        both();
    now.ms += 2000;
    turn(A);
    cr_assert_not_null(said(A, MSG_PART_STATUS));
    cr_expect_eq(said(A, MSG_PART_STATUS)->part_status.v[0].life, PART_STUCK);
    cr_expect_eq(life(A), PART_OWNED);
    cr_expect_eq(put(A, 8, "three"), CODE_DONE, "it goes on");
}

Test(task_moves, a_damaged_chunk_is_refused_and_nothing_is_left)
{
    static const uint8_t bad[] = { 9, 0, 0, TREC_ACCEPT, 1, 2, 3 };

    order_out(9);
    link_up();
    while (life(B) != PART_COMING)
        both();
    say(B, PEER, &(struct msg){ .type = MSG_PCOPY_CHUNK,
                                .pcopy_chunk = { 3, 9, 1, { sizeof(bad), bad }, false, 0 } });
    cr_expect_eq(life(B), 99);
    cr_expect_eq(said(B, MSG_PCOPY_ACK)->pcopy_ack.state, PCOPY_REFUSED);
}

Test(task_moves, a_snapshot_has_a_fence_and_a_whole_copy)
{
    copy_all();
    for (int i = A; i <= B; i++) {
        bool more = tasktab_snapshot(rig[i].t, true, tabrig_record, &rig[i].snap);

        while (more)
            more = tasktab_snapshot(rig[i].t, false, tabrig_record, &rig[i].snap);
        cr_assert_not(tasktab_snapshot_spoilt(rig[i].t));
        turn(i);
        buf_reset(&rig[i].log.b);
        tabrig_again(&rig[i], now);
    }
    cr_expect_eq(life(A), PART_FENCED);
    cr_expect_eq(life(B), PART_COME);
}

Test(task_moves, records_behind_a_snapshot_that_lost_its_mark_are_not_left_out)
{
    bool more = tasktab_snapshot(rig[A].t, true, tabrig_record, &rig[A].snap);

    cr_assert_not(more, "one partition");
    buf_reset(&rig[A].log.b); /* killed before SNAPPED was written */
    tabrig_again(&rig[A], now);
    up(A);
    cr_assert_eq(put(A, 8, "three"), CODE_DONE);
    turn(A);
    tabrig_again(&rig[A], now);
    cr_expect_eq(tasktab_part_tasks(tasktab_part(rig[A].t, 3)), 3);
}

/* The source's delays and leases go on by its own axis, also when the target is restarted. */
static void moves_to_another_clock(msec_t ahead, bool restarted)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "",
                            .delay_ms = 60000, .digest = 1, .body = { 1, (const uint8_t *)"x" } };
    const uint32_t *in;

    b_ahead = ahead;
    take(A, 8, 0); /* a lease of a minute */
    say(A, RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    turn(A);
    now.ms += 20000; /* nothing is written for a while */
    now.wall_ms += 20000;
    copy_all();
    if (restarted) {
        outbox_reset(&out[B]);
        tabrig_again(&rig[B], now_at(B));
        up(B);
        say(B, MNG, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH, 1, 77 } });
    }
    open_part(B, 9, true);
    in = tasktab_part(rig[B].t, 3)->e.store.n;
    cr_expect_eq(in[TASK_SCHEDULED], 1, "ahead %ld", (long)ahead);
    cr_expect_eq(in[TASK_RUNNING], 1, "ahead %ld", (long)ahead);
    now.ms += 39700;
    now.wall_ms += 39700;
    turn(B);
    cr_expect_eq(in[TASK_SCHEDULED], 1, "ahead %ld", (long)ahead);
    cr_expect_eq(in[TASK_RUNNING], 1, "ahead %ld", (long)ahead);
    now.ms += 300;
    now.wall_ms += 300;
    turn(B);
    cr_expect_eq(in[TASK_SCHEDULED], 0, "ahead %ld", (long)ahead);
    cr_expect_eq(in[TASK_RUNNING], 0, "ahead %ld", (long)ahead);
}

Test(task_moves, a_target_whose_clock_is_ahead_starts_nothing_early)
{
    moves_to_another_clock(3600000, false);
}

Test(task_moves, nor_does_one_that_is_restarted_before_it_has_the_partition)
{
    moves_to_another_clock(3600000, true);
}

Test(task_moves, a_target_whose_clock_is_behind_holds_nothing_up)
{
    moves_to_another_clock(-3600000, false);
}
