/* test_task_kept.c: ends of tasks are told in another queue; bodies go with what has them; what is written
 * makes the same table. */
#include "tests/unit/task/tablerig.h"

#include "common/base/rng.h"
#include "task/engine/change.h"
#include "task/engine/worker.h"

TestSuite(task_kept, .init = setup, .fini = teardown);

/* What was heard of ends. */
static unsigned n_ends;
static struct task_end last_end;

static void heard(void *ctx, const struct task_end *end)
{
    (void)ctx;
    n_ends++;
    last_end = *end;
}

Test(task_kept, each_end_is_heard_once_and_not_again_when_it_is_read)
{
    task_no first, second;

    teardown();
    rig.ended = heard;
    setup();
    ok(EPOCH, 77);
    open_part(3, 8);
    first = put_at(3, 8, "q", "x").no;
    cr_assert_eq(take(RTR, "q", 1, 0)->n, 1);
    cr_expect_eq(n_ends, 0);
    pass(50);
    second = put_at(3, 8, "q", "y").no;
    send(RTR, &(struct msg){ .type = MSG_TASK_TAKE, .task_take = { 3, 8, "q", 1, 60000, 0 } });
    cr_assert_eq(settle(SETTLE_ACK, &answer(next_rid)->task_take_ans.v[0]), CODE_DONE);
    cr_expect_eq(n_ends, 1);
    cr_expect(last_end.part == 3 && last_end.no == second && last_end.state == TASK_SUCCEEDED);
    cr_expect(last_end.attempts == 1 && last_end.status == 0);
    cr_expect_eq(last_end.ended_ms, now.wall_ms);
    cr_expect_eq(last_end.started_ms, now.wall_ms);
    cr_expect_str_eq(last_end.why, "succeeded");
    pass(60000); /* the lease of the first is over: it is tried again later */
    pass(1);
    cr_expect_eq(n_ends, 1);
    cr_assert_eq(engine_cancel(&tasktab_part(t, 3)->e, first), 0);
    cr_expect_eq(n_ends, 2);
    cr_expect(last_end.no == first && last_end.state == TASK_CANCELLED);
    cr_expect_str_eq(last_end.why, "cancelled");
    cr_expect_eq(last_end.started_ms, now.wall_ms - 60051, "of its last attempt");
    pass(1);
    again();
    cr_expect_eq(n_ends, 2);
}

/* ---- notices --------------------------------------------------------------------- */

static void open_telling(part_no no, uint64_t epoch, const char *queue)
{
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN, .part_open = { .epoch = EPOCH, .part = no, .part_epoch = epoch,
                             .match = "q*", .max_tasks = 100, .notify = queue } });
    turn();
}

/* The i-th notice of this turn, to whichever router; NULL: there is none. */
static const struct msg_task_notice *told(unsigned i)
{
    for (uint32_t k = 0; k < out.n; k++)
        if (out.v[k].m.type == MSG_TASK_NOTICE && i-- == 0)
            return &out.v[k].m.task_notice;
    return NULL;
}

static void answer_notice(const struct msg_task_notice *m, uint8_t code)
{
    struct msg_task_notice_ans a = { m->part, m->id, m->no, code, 0, 0 };

    send(RTR, &(struct msg){ .type = MSG_TASK_NOTICE_ANS, .task_notice_ans = a });
    turn();
}

static void cancel(task_no no)
{
    outbox_reset(&out);
    cr_assert_eq(engine_cancel(&tasktab_part(t, 3)->e, no), 0);
    turn();
}

Test(task_kept, an_end_is_told_in_the_other_queue_until_that_has_it)
{
    struct msg_task_notice m;
    char text[NOTICE_TEXT_MAX + 1] = "";
    task_no no;

    ok(EPOCH, 77);
    open_telling(3, 8, "hook");
    no = put_at(3, 8, "q", "x").no;
    turn();
    cr_expect_null(told(0));
    cancel(no);
    cr_assert_not_null(told(0));
    cr_expect_null(told(1));
    m = *told(0);
    cr_expect(m.part == 3 && m.no == no && m.state == TASK_CANCELLED && m.ended_ms == now.wall_ms);
    cr_expect_str_eq(m.queue, "hook");
    memcpy(text, m.text.p, m.text.n);
    cr_expect_not_null(strstr(text, "\"state\":\"cancelled\""));
    pass(9000);
    cr_expect_null(told(0));
    answer_notice(&m, CODE_FULL);
    pass(999);
    cr_expect_null(told(0));
    pass(1);
    cr_assert_not_null(told(0));
    cr_expect(told(0)->id == m.id && told(0)->ended_ms == m.ended_ms, "the same again");
    answer_notice(&m, CODE_SAME);
    pass(20000);
    cr_expect_null(told(0));
    again();
    cr_expect_eq(notices_n(&tasktab_part(t, 3)->notices), 0);
}

static struct msg_task_group_ans group(uint8_t verb, const char *name)
{
    struct msg m = { .type = MSG_TASK_GROUP, .task_group = { 3, 8, verb, "q", name } };

    send(RTR, &m);
    return answer(next_rid)->task_group_ans;
}

/* The notice of a group in this turn; NULL: there is none. */
static const struct msg_task_notice *told_of_group(void)
{
    for (unsigned i = 0; told(i) != NULL; i++)
        if (told(i)->group.n > 0)
            return told(i);
    return NULL;
}

Test(task_kept, a_sealed_group_is_told_once_when_its_last_task_is_over)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "",
                            .group = "b7" };
    struct msg_task_group_ans a;
    struct msg_task_notice m;
    char text[NOTICE_TEXT_MAX + 1] = "";
    task_no first, second;

    ok(EPOCH, 77);
    open_telling(3, 8, "hook");
    cr_expect_eq(group(GROUP_LOOK, "b7").code, CODE_UNKNOWN);
    first = put_row(&one).no;
    second = put_row(&one).no;
    turn();
    cancel(first);
    cr_expect_null(told_of_group());
    a = group(GROUP_SEAL, "b7");
    cr_expect(a.code == CODE_DONE && a.sealed && a.counts[TASK_WAITING] == 1 && a.counts[TASK_CANCELLED] == 1);
    cr_expect_eq(group(GROUP_SEAL, "b7").code, CODE_SAME);
    cr_expect_eq(put_row(&one).code, CODE_CONFLICT);
    turn();
    again();
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    cancel(second);
    cr_assert_not_null(told_of_group());
    m = *told_of_group();
    memcpy(text, m.group.p, m.group.n);
    cr_expect_not_null(strstr(text, "\"queue\":\"q\",\"group\":\"b7\",\"succeeded\":0,\"dead\":0,\"cancelled\":2"));
    cr_expect(m.text.n == 0 && m.state == TASK_FREE && m.ended_ms == now.wall_ms);
    answer_notice(&m, CODE_INVALID); /* a router of before knows no groups */
    pass(1000);
    cr_assert_not_null(told_of_group(), "said again");
    cr_expect_eq(told_of_group()->id, m.id);
    answer_notice(&m, CODE_DONE);
    pass(20000);
    cr_expect_null(told_of_group());
}

Test(task_kept, a_group_that_is_sealed_behind_its_last_task_is_told_at_once)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "",
                            .group = "b7" };

    ok(EPOCH, 77);
    open_telling(3, 8, "hook");
    cancel(put_row(&one).no);
    cr_expect_null(told_of_group());
    (void)put_row(&one);
    turn();
    cr_expect_eq(group(GROUP_CANCEL, "b7").code, CODE_DONE);
    turn();
    pass(0);
    cr_assert_not_null(told_of_group(), "the rest was cancelled");
    answer_notice(told_of_group(), CODE_DONE);
    one.group = "b8";
    cancel(put_row(&one).no);
    cr_expect_eq(group(GROUP_SEAL, "b8").code, CODE_DONE);
    turn();
    cr_assert_not_null(told_of_group());
    answer_notice(told_of_group(), CODE_DONE);
    cr_expect_eq(group(GROUP_SEAL, "b8").code, CODE_SAME);
    turn();
    cr_expect_null(told_of_group());
    for (unsigned i = 0; i < 4; i++) {
        (void)group(GROUP_CANCEL, i < 2 ? "b8" : "b7");
        turn();
        cr_expect_null(told_of_group(), "it was over before, and is told of once: %u", i);
    }
}

/* Before its manager has said anything a node that begins anew ends tasks, too. */
Test(task_kept, a_node_that_begins_anew_tells_what_was_not_taken_and_what_ends_then)
{
    task_no first, second;

    ok(EPOCH, 77);
    open_telling(3, 8, "hook");
    first = put_at(3, 8, "q", "x").no;
    second = put_at(3, 8, "q", "y").no;
    cancel(first);
    cr_expect_not_null(told(0));
    again();
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    cancel(second);
    cr_assert(told(0) != NULL && told(1) != NULL);
    cr_expect(told(0)->no == first && told(1)->no == second);
    cr_expect_null(told(2));
}

Test(task_kept, the_end_of_what_tells_an_end_is_told_nowhere)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "",
                            .own.labels = "a,segq-notice" };

    ok(EPOCH, 77);
    open_telling(3, 8, "q");
    cancel(put_row(&one).no);
    cr_expect_null(told(0));
    one.own.labels = "segq-notices";
    cancel(put_row(&one).no);
    cr_expect_not_null(told(0));
}

Test(task_kept, what_never_can_be_taken_is_dropped_and_a_router_that_goes_is_not_waited_for)
{
    task_no no;

    ok(EPOCH, 77);
    open_telling(3, 8, "hook");
    no = put_at(3, 8, "q", "x").no;
    tasktab_down(t, RTR2);
    cancel(no);
    cr_assert_not_null(told(0));
    tasktab_down(t, RTR);
    pass(10);
    cr_expect_null(told(0), "there is no router");
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    pass(1000);
    cr_assert_not_null(told(0));
    answer_notice(told(0), CODE_INVALID);
    cr_expect_eq(tasktab_part(t, 3)->notices.dropped, 1);
    open_telling(3, 8, "");
    no = put_at(3, 8, "q", "x").no;
    cancel(no);
    cr_expect_null(told(0));
}

static void open_for_starts(void)
{
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN, .part_open = { .epoch = EPOCH, .part = 3, .part_epoch = 8,
                             .match = "q*", .max_tasks = 100, .notify = "hook", .notify_starts = true } });
    turn();
}

/* The only notice of this turn is of this start. */
static struct msg_task_notice started(task_no no, unsigned attempts)
{
    char text[NOTICE_TEXT_MAX + 1] = "", want[40];

    cr_assert(told(0) != NULL && told(1) == NULL);
    cr_expect(told(0)->no == no && told(0)->state == TASK_RUNNING && told(0)->ended_ms == now.wall_ms);
    memcpy(text, told(0)->text.p, told(0)->text.n);
    snprintf(want, sizeof(want), "\"attempts\":%u", attempts);
    cr_expect_eq(strncmp(text, "{\"started_at\":", 14), 0);
    cr_expect(strstr(text, want) != NULL && strstr(text, "\"state\":\"running\"") != NULL);
    return *told(0);
}

Test(task_kept, each_start_is_told_with_a_key_of_its_own)
{
    struct taken_row k;
    struct msg_task_notice m;
    uint64_t first;
    task_no no;

    ok(EPOCH, 77);
    open_for_starts();
    no = put_at(3, 8, "q", "x").no;
    turn();
    cr_expect_null(told(0), "it waits");
    k = take(RTR, "q", 1, 0)->v[0];
    turn();
    m = started(no, 1);
    first = m.start;
    again();
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    turn();
    cr_assert(told(0) != NULL && told(0)->start == first && told(0)->ended_ms == m.ended_ms, "the same again");
    m = *told(0);
    answer_notice(&m, CODE_DONE); /* and no manager has spoken: the node knows it by itself */
    cr_expect_eq(settle(SETTLE_NACK, &k), CODE_DONE);
    pass(400000);
    cr_expect_null(told(0), "its retry is no start");
    k = take(RTR, "q", 1, 0)->v[0];
    turn();
    m = started(no, 2);
    cr_expect(m.start != 0 && m.start != first);
    answer_notice(&m, CODE_SAME);
    cr_expect_eq(settle(SETTLE_ACK, &k), CODE_DONE);
    turn();
    cr_assert_not_null(told(0));
    cr_expect(told(0)->state == TASK_SUCCEEDED && told(0)->start == 0);
    answer_notice(told(0), CODE_DONE);
    tasktab_up(t, MNG, RPC_MANAGER, "m1", &out);
    ok(EPOCH, 77);
    open_telling(3, 8, "hook"); /* ends alone, from now on */
    no = put_at(3, 8, "q", "y").no;
    cr_assert_eq(take(RTR, "q", 1, 0)->n, 1);
    turn();
    cr_expect_null(told(0));
}

Test(task_kept, the_start_of_a_call_is_told_and_that_of_a_notice_is_not)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "",
                            .group = "b7" };
    struct engine *e;
    struct taken call;
    task_no no;

    ok(EPOCH, 77);
    open_for_starts();
    e = &tasktab_part(t, 3)->e;
    no = put_row(&one).no;
    outbox_reset(&out);
    cr_assert_eq(engine_take_call(e, 60000, UINT64_MAX, &call), 1);
    turn();
    cr_expect_eq(started(no, 1).start, call.lease);
    one.own.labels = "segq-notice";
    (void)put_row(&one);
    outbox_reset(&out);
    cr_assert_eq(engine_take_call(e, 60000, UINT64_MAX, &call), 1);
    turn();
    cr_expect_null(told(0));
}

/* ---- bodies, records ------------------------------------------------------------- */

Test(task_kept, bodies_go_with_what_has_them)
{
    struct taken_row k;

    open_part(3, 8);
    put_at(3, 8, "q", "one");
    put_at(3, 8, "none", "two");
    cr_assert_eq(rig.n_bodies, 1, "no pool matches: nothing is written");
    k = take(RTR, "q", 1, 0)->v[0];
    cr_assert_eq(settle(SETTLE_ACK, &(struct taken_row){ .no = k.no, .lease = 999 }),
                 CODE_CONFLICT);
    cr_assert_eq(rig.dropped, 1, "a result that counts for nothing");
    cr_assert_eq(settle(SETTLE_ACK, &k), CODE_DONE);
    cr_assert_eq(rig.dropped, 1, "the turn is not written yet");
    turn();
    cr_assert_eq(rig.dropped, 2, "the body");
    send(MNG, &(struct msg){ .type = MSG_PART_DROP, .part_drop = { EPOCH, 3 } });
    turn();
    cr_assert_eq(rig.dropped, 3, "the result");
    cr_assert_null(tasktab_part(t, 3));
    again();
    cr_assert_null(tasktab_part(t, 3));
}

Test(task_kept, while_nothing_can_be_written_it_only_answers_looks)
{
    task_no no;

    open_part(3, 8);
    no = put_at(3, 8, "q", "body").no;
    turn();
    tasktab_hold(t, true);
    cr_assert_eq(put_at(3, 8, "q", "body").code, CODE_BUSY);
    cr_assert_eq(take(RTR, "q", 1, 60000)->code, CODE_BUSY);
    send(RTR, &(struct msg){ .type = MSG_TASK_GET, .task_get = { 3, 8, no, "", "", 0, false } });
    cr_assert_eq(answer(next_rid)->task_get_ans.state, TASK_WAITING);
    pass(4ll * 3600 * 1000);
    send(RTR, &(struct msg){ .type = MSG_TASK_GET, .task_get = { 3, 8, no, "", "", 0, false } });
    cr_assert_eq(answer(next_rid)->task_get_ans.state, TASK_WAITING, "its life stands");
    tasktab_hold(t, false);
    pass(1);
    send(RTR, &(struct msg){ .type = MSG_TASK_GET, .task_get = { 3, 8, no, "", "", 0, false } });
    cr_assert_eq(answer(next_rid)->task_get_ans.state, TASK_EXPIRED);
}

Test(task_kept, a_task_whose_body_is_gone_is_not_given_out)
{
    struct tasktab_counts n;

    open_part(3, 8);
    put_at(3, 8, "q", "one");
    put_at(3, 8, "q", "two");
    turn();
    buf_fini(&rig.body[1]);
    again();
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    cr_assert_eq(t->n.lost_bodies, 1);
    tasktab_count(t, &n);
    cr_expect_eq(n.waiting_bytes, 1, "of the rig: 1 a body; what is lost takes no room");
    cr_assert_eq(take(RTR, "q", 5, 0)->n, 1);
}

Test(task_kept, old_bodies_are_copied_and_then_go)
{
    open_part(3, 8);
    for (int i = 0; i < 30; i++)
        put_at(3, 8, "q", i % 2 ? "odd" : "even one");
    turn();
    buf_fini(&rig.body[7]); /* it cannot be read */
    rig.old_to = 20;
    tasktab_copy_bodies(t, now);
    turn();
    cr_assert_eq(rig.n_bodies, 30 + 19);
    cr_assert_eq(rig.dropped, 19);
    tasktab_copy_bodies(t, now);
    turn();
    cr_assert_eq(rig.n_bodies, 30 + 19, "they are not old any more");
    again();
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    cr_assert_eq(take(RTR, "q", 100, 0)->n, 29);
}

/* Something, with some partition. */
static void do_something(struct rng *g)
{
    part_no no = (part_no)(3 + rng_below(g, 3));
    uint64_t what = rng_below(g, 10);
    struct taken_row *k;

    if (what < 5)
        put_at(no, 8, rng_chance(g, 0.5) ? "q1" : "q2", "some body");
    else if (what < 8 && no == 3) {
        const struct msg_task_take_ans *a = take(RTR, "q1", 1, 0);

        if (a->n == 0)
            return;
        k = &(struct taken_row){ .no = a->v[0].no, .lease = a->v[0].lease };
        turn();
        cr_assert_eq(settle((uint8_t)rng_below(g, SETTLE_NVERBS), k), CODE_DONE);
    } else
        pass((msec_t)rng_below(g, 100000));
}

Test(task_kept, a_limit_falls_behind_what_its_turn_accepted)
{
    uint64_t before;

    open_part(3, 8);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(put_at(3, 8, "q", "a").code, CODE_DONE);
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 8, "q*", 0, NULL, 1, false } });
    turn();
    cr_expect_eq(put_at(3, 8, "q", "a").code, CODE_FULL + FULL_PART);
    turn();
    before = tabrig_digest(&rig);
    cr_expect_eq(again(), before, "what is above it is read again");
}

Test(task_kept, a_snapshot_behind_a_lower_limit_has_what_is_above_it)
{
    uint64_t before;

    open_part(3, 8);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(put_at(3, 8, "q", "a").code, CODE_DONE);
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 8, "q*", 0, NULL, 1, false } });
    turn();
    buf_reset(&rig.log.b);
    cr_assert(!tasktab_snapshot(t, true, tabrig_record, &rig.snap));
    turn();
    before = tabrig_digest(&rig);
    cr_expect_eq(again(), before);
}

Test(task_kept, what_is_written_makes_the_same_table)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct rng g;
        bool snapping = false;

        rng_seed(&g, seed);
        teardown();
        memset(&rig, 0, sizeof(rig));
        setup();
        for (part_no no = 3; no < 6; no++)
            open_part(no, 8);
        for (int i = 0; i < 200; i++) {
            do_something(&g);
            turn();
            if (i == 60 || snapping) { /* the log begins anew; then a slice a turn */
                if (i == 60)
                    buf_reset(&rig.log.b);
                snapping = tasktab_snapshot(t, i == 60, tabrig_record, &rig.snap);
                turn();
            }
        }
        turn();
        for (int k = 0; k < 2; k++) {
            uint64_t before;

            cr_assert(!snapping);
            before = tabrig_digest(&rig);
            cr_assert_eq(again(), before, "seed %llu", (unsigned long long)seed);
            tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
            for (int i = 0; i < 20; i++)
                do_something(&g);
            turn();
        }
    }
}

/* A disk fails, the journal is read again, and is healed by a snapshot before the next turn. */
Test(task_kept, a_snapshot_has_what_a_replay_said_while_nothing_could_be_written)
{
    uint64_t before;

    open_part(3, 8);
    put_at(3, 8, "q", "some body");
    turn();
    now.ms += 5000;
    again();
    tasktab_hold(t, true);
    turn();
    buf_reset(&rig.log.b);
    cr_assert(!tasktab_snapshot(t, true, tabrig_record, &rig.snap));
    tasktab_hold(t, false);
    turn();
    before = tabrig_digest(&rig);
    cr_assert_eq(again(), before);
}
