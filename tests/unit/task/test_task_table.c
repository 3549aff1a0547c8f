/* test_task_table.c: the table between a manager, two routers and a journal in memory: what it
 * answers, who waits, which orders it obeys; and that what is written makes the same table. */
#include "task/node/table.h"

#include "tests/lib/criterion.h"
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/wire/msg.h"
#include "task/engine/change.h"
#include "task/node/archive_line.h"
#include "tests/lib/tabrig.h"

enum { MNG = 1, RTR = 2, RTR2 = 3, MNG2 = 4 };
#define EPOCH 5

static struct tabrig rig;
static struct tasktab *t; /* rig.t */
static struct outbox out;
static struct task_now now;
static uint64_t next_rid;

static void turn(void)
{
    cr_assert(tasktab_turn(t, now, &out));
    tasktab_written(t);
}

static void pass(msec_t ms)
{
    now.ms += ms;
    now.wall_ms += ms;
    outbox_reset(&out);
    turn();
}

static void setup(void)
{
    cr_assert_geq(sodium_init(), 0);
    log_set_level(LOG_ERROR);
    now = (struct task_now){ 1700000000000, 1700000000000 };
    outbox_init(&out);
    tabrig_new(&rig);
    t = rig.t;
    tasktab_up(t, MNG, RPC_MANAGER, "m1", &out);
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    tasktab_up(t, RTR2, RPC_ROUTER, "r2", &out);
    outbox_reset(&out);
}

static void teardown(void)
{
    tabrig_fini(&rig);
    outbox_fini(&out);
}

TestSuite(task_table, .init = setup, .fini = teardown);

static void send(peer_no from, const struct msg *m)
{
    outbox_reset(&out);
    tasktab_msg(t, now, from, ++next_rid, m, &out);
}

/* The answer to the last question; NULL: none yet. */
static const struct msg *answer(uint64_t rid)
{
    for (uint32_t i = 0; i < out.n; i++)
        if (out.v[i].rid == rid)
            return &out.v[i].m;
    return NULL;
}

static void open_part(part_no no, uint64_t epoch)
{
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, no, epoch, "q*", 0, NULL, 100, false } });
    turn();
}

static void ok(uint64_t epoch, uint64_t store)
{
    send(MNG, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { epoch, 1, store } });
}

static struct task_put_row put_row(struct task_put *one)
{
    const struct msg *m;

    send(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, one } });
    m = answer(next_rid);
    cr_assert(m != NULL && m->task_put_ans.n == 1);
    return m->task_put_ans.v[0];
}

static struct task_put_row put_at(part_no no, uint64_t epoch, const char *queue, const char *body)
{
    struct task_put one = { .part = no, .epoch = epoch, .queue = queue, .key1 = "", .key2 = "",
                            .name = "", .digest = strlen(body),
                            .body = { (uint32_t)strlen(body), (const uint8_t *)body } };

    return put_row(&one);
}

/* NULL: it waits. */
static const struct msg_task_take_ans *take(peer_no from, const char *queue, uint32_t most,
                                            uint32_t wait_ms)
{
    const struct msg *m;

    send(from, &(struct msg){ .type = MSG_TASK_TAKE,
                              .task_take = { 3, 8, queue, most, 60000, wait_ms } });
    m = answer(next_rid);
    return m != NULL ? &m->task_take_ans : NULL;
}

/* Settlement by a server that may do so in the queues; "": in all. */
static uint8_t settle_in(const char *queues, uint8_t verb, const struct taken_row *k)
{
    struct settle_row r = { 3, 8, verb, k->no, k->lease, 0, { 2, (const uint8_t *)"ok" }, { 0 } };
    struct msg_task_settle q = { 1, &r, { (uint32_t)strlen(queues), (const uint8_t *)queues } };

    send(RTR, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = q });
    return answer(next_rid)->task_settle_ans.v[0].code;
}

static uint8_t settle(uint8_t verb, const struct taken_row *k)
{
    return settle_in("", verb, k);
}

static uint64_t again(void)
{
    uint64_t read = tabrig_again(&rig, now);

    t = rig.t;
    return read;
}

/* What was heard of ends. */
static unsigned n_ends;
static struct task_end last_end;

static void heard(void *ctx, const struct task_end *end)
{
    (void)ctx;
    n_ends++;
    last_end = *end;
}

Test(task_table, each_end_is_heard_once_and_not_again_when_it_is_read)
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
    struct msg_task_notice_ans a = { m->part, m->id, m->no, code };

    send(RTR, &(struct msg){ .type = MSG_TASK_NOTICE_ANS, .task_notice_ans = a });
    turn();
}

static void cancel(task_no no)
{
    outbox_reset(&out);
    cr_assert_eq(engine_cancel(&tasktab_part(t, 3)->e, no), 0);
    turn();
}

Test(task_table, an_end_is_told_in_the_other_queue_until_that_has_it)
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

/* Before its manager has said anything a node that begins anew ends tasks, too. */
Test(task_table, a_node_that_begins_anew_tells_what_was_not_taken_and_what_ends_then)
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

Test(task_table, the_end_of_what_tells_an_end_is_told_nowhere)
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

Test(task_table, what_never_can_be_taken_is_dropped_and_a_router_that_goes_is_not_waited_for)
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

/* ---- orders ---------------------------------------------------------------------- */

Test(task_table, a_partition_is_opened_once_and_never_under_a_lower_epoch)
{
    ok(EPOCH, 77);
    open_part(3, 8);
    cr_assert_eq(tasktab_part(t, 3)->epoch, 8);
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 7, "q*", 0, NULL, 100, false } });
    cr_assert_eq(out.v[0].m.type, MSG_ERROR);
    cr_assert_eq(tasktab_part(t, 3)->epoch, 8);
    open_part(3, 9);
    cr_assert_eq(tasktab_part(t, 3)->epoch, 9);
    cr_assert_eq(put_at(3, 8, "q", "x").code, CODE_STALE);
    cr_assert_eq(put_at(4, 9, "q", "x").code, CODE_STALE);
    cr_assert_eq(put_at(3, 9, "q", "x").code, CODE_DONE);
    cr_assert_eq(put_at(3, 9, "other", "x").code, CODE_UNKNOWN);
}

Test(task_table, limits_of_keys_are_kept_and_bad_ones_refused)
{
    struct key_limit keys[] = { { .queue = "", .key = "*", .at_once = 1, .weight = 4 } };
    struct msg open = { .type = MSG_PART_OPEN,
                        .part_open = { EPOCH, 3, 8, "q*", 0, NULL, 100, .n_keys = 1, .keys = keys } };

    ok(EPOCH, 77);
    send(MNG, &open);
    cr_assert_eq(tasktab_part(t, 3)->e.pool[0]->keys.pattern[0].weight, 4);
    turn();
    keys[0].key = "a*b";
    send(MNG, &open);
    cr_assert_eq(out.v[0].m.type, MSG_ERROR);
    turn();
    again();
    cr_assert_eq(tasktab_part(t, 3)->e.pool[0]->keys.pattern[0].weight, 4, "as before the bad one");
}

Test(task_table, a_unique_key_that_another_task_has_is_told_apart)
{
    struct task_put one[] = {
        { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "",
          .unique = { 1, (const uint8_t *)"u" }, .unique_while = UNIQUE_RUNNING },
        { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "",
          .unique = { 1, (const uint8_t *)"u" }, .on_conflict = UNIQUE_REJECT },
        { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "", .name = "",
          .unique = { 1, (const uint8_t *)"u" }, .on_conflict = UNIQUE_RETURN },
    };
    const struct task_put_row *v;

    ok(EPOCH, 77);
    open_part(3, 8);
    send(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 3, one } });
    v = answer(next_rid)->task_put_ans.v;
    cr_expect_eq(v[0].code, CODE_DONE);
    cr_expect_eq(v[1].code, CODE_HELD);
    cr_expect_eq(v[2].code, CODE_SAME);
    cr_expect_eq(v[2].no, v[0].no);
}

Test(task_table, a_rate_is_of_the_partition_and_its_epoch)
{
    uint64_t rules[40] = { 0 };
    struct task_rules r;
    const struct msg_task_take_ans *a;
    struct tasktab_counts n;

    rules_default(&r);
    r.until_told = 1;
    memcpy(rules, &r, sizeof(r));
    ok(EPOCH, 77);
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 8, "q*", sizeof(r) / 8, rules, 100, false } });
    turn();
    cr_assert_eq(put_at(3, 8, "q", "x").code, CODE_DONE);
    cr_assert_eq(take(RTR, "q", 1, 0)->n, 0, "by the rules nothing, while no rate is said");
    now.ms += 1000;
    turn();
    tasktab_count(t, &n);
    cr_expect_eq(n.held[HOLD_LIMITS], 1, "no worker is missing");
    send(MNG, &(struct msg){ .type = MSG_PART_RATE, .part_rate = { EPOCH, 3, 7, 1000000 } });
    cr_assert_eq(take(RTR, "q", 1, 0)->n, 0, "said to an owner of before");
    send(MNG, &(struct msg){ .type = MSG_PART_RATE, .part_rate = { EPOCH, 3, 8, 1000000 } });
    a = take(RTR, "q", 1, 0);
    cr_assert(a != NULL && a->n == 1);
}

Test(task_table, payloads_have_a_bound_and_what_is_there_already_is_still_known)
{
    uint64_t rules[40] = { 0 };
    struct task_put first = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "",
                              .name = "first", .body = { 1, (const uint8_t *)"x" } };
    const struct msg_task_take_ans *a;
    struct tasktab_counts n;
    struct task_rules r;

    rules_default(&r);
    r.max_bytes = 2;
    memcpy(rules, &r, sizeof(r));
    ok(EPOCH, 77);
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 8, "q*", sizeof(r) / 8, rules, 100, false } });
    turn();
    first.digest = 1;
    cr_assert_eq(put_row(&first).code, CODE_DONE);
    cr_assert_eq(put_at(3, 8, "q", "y").code, CODE_DONE);
    cr_expect_eq(put_at(3, 8, "q", "z").code, CODE_FULL);
    cr_expect_eq(put_row(&first).code, CODE_SAME);
    turn();
    again();
    tasktab_up(t, MNG, RPC_MANAGER, "m1", &out);
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    ok(EPOCH, 77);
    cr_expect_eq(put_at(3, 8, "q", "z").code, CODE_FULL, "a replay counts them, too");
    tasktab_count(t, &n);
    cr_expect_eq(n.waiting_bytes, 2);
    a = take(RTR, "q", 1, 0);
    cr_assert(a != NULL && a->n == 1);
    cr_assert_eq(settle(SETTLE_ACK, &a->v[0]), CODE_DONE);
    cr_expect_eq(put_at(3, 8, "q", "z").code, CODE_DONE, "what is over has room for others");
}

Test(task_table, what_was_somewhere_never_begins_empty)
{
    ok(EPOCH, 77);
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 8, "q*", 0, NULL, 100, false, true } });
    cr_assert_eq(out.v[0].m.type, MSG_ERROR);
    cr_assert_null(tasktab_part(t, 3));
}

Test(task_table, a_partition_under_a_higher_epoch_is_not_dropped)
{
    ok(EPOCH, 77);
    open_part(3, 8);
    send(MNG, &(struct msg){ .type = MSG_PART_DROP, .part_drop = { EPOCH, 3, 7 } });
    cr_assert_not_null(tasktab_part(t, 3));
    send(MNG, &(struct msg){ .type = MSG_PART_DROP, .part_drop = { EPOCH, 3, 8 } });
    cr_assert_null(tasktab_part(t, 3));
}

Test(task_table, managers_below_the_epoch_and_of_another_store_are_refused)
{
    ok(EPOCH, 77);
    tasktab_up(t, MNG2, RPC_MANAGER, "m2", &out);
    send(MNG2, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH - 1, 1, 77 } });
    cr_assert_eq(out.v[0].m.type, MSG_ERROR, "a lower epoch");
    send(MNG2, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH, 1, 77 } });
    cr_assert_eq(out.v[0].m.type, MSG_ERROR, "the same epoch, another manager");
    send(MNG2, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH + 1, 1, 78 } });
    cr_assert_eq(out.v[0].m.type, MSG_ERROR, "another store");
    send(MNG2, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH + 1, 1, 77 } });
    cr_assert_eq(t->epoch, EPOCH + 1);
    send(RTR, &(struct msg){ .type = MSG_PART_DROP, .part_drop = { EPOCH + 1, 3 } });
    cr_assert_eq(out.v[0].m.type, MSG_ERROR, "no manager");
}

Test(task_table, a_take_waits_until_there_is_a_task_or_its_time_is_over)
{
    struct task_put_row put;
    uint64_t rid;

    open_part(3, 8);
    cr_assert_null(take(RTR, "q", 2, 1000));
    rid = next_rid;
    pass(999);
    cr_assert_null(answer(rid));
    pass(1);
    cr_assert_eq(answer(rid)->task_take_ans.n, 0);
    cr_assert_null(take(RTR, "q", 2, 1000));
    rid = next_rid;
    cr_assert_null(take(RTR2, "q", 2, 1000));
    put = put_at(3, 8, "q", "body");
    cr_assert_eq(put.code, CODE_DONE);
    cr_assert_eq(put.state, TASK_WAITING);
    turn();
    cr_assert_eq(answer(rid)->task_take_ans.n, 1, "the one who waits longest");
    cr_assert_null(answer(rid + 1));
    cr_assert_eq(t->ends.n, 1);
    tasktab_down(t, RTR2);
    cr_assert_eq(t->ends.n, 0);
}

Test(task_table, at_its_end_nobody_waits)
{
    uint64_t rid;

    open_part(3, 8);
    cr_assert_null(take(RTR, "q", 2, 1000));
    rid = next_rid;
    tasktab_stop(t, &out);
    cr_assert_eq(answer(rid)->task_take_ans.n, 0);
    cr_assert_eq(take(RTR, "q", 2, 1000)->n, 0);
}

Test(task_table, a_delay_runs_from_the_moment_at_which_it_was_asked_for)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "",
                            .name = "", .delay_ms = 50 };
    uint64_t rid;

    open_part(3, 8);
    put_at(3, 8, "other q", "the clock of this turn");
    now.ms += 30; /* the same turn */
    send(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    cr_assert_null(take(RTR, "q", 1, 1000));
    rid = next_rid;
    pass(50);
    cr_assert_null(answer(rid), "perhaps not 50 ms yet");
    pass(1);
    cr_assert_eq(answer(rid)->task_take_ans.n, 1);
}

Test(task_table, of_too_many_waiting_calls_the_oldest_is_answered)
{
    uint64_t first;

    open_part(3, 8);
    cr_assert_null(take(RTR, "q", 1, 60000));
    first = next_rid;
    for (unsigned i = 1; i < WAITS_PER_LINK; i++)
        cr_assert_null(take(RTR, i % 2 ? "q" : "q1", 1, 60000));
    cr_assert_null(take(RTR2, "q", 1, 60000), "of another link");
    cr_assert_null(take(RTR, "q", 1, 60000));
    cr_assert_eq(answer(first)->task_take_ans.n, 0);
    cr_assert_eq(t->ends.n, WAITS_PER_LINK + 1);
}

Test(task_table, a_look_waits_for_the_end)
{
    struct taken_row k;
    uint64_t rid;

    open_part(3, 8);
    k.no = put_at(3, 8, "q", "body").no;
    turn();
    send(RTR2, &(struct msg){ .type = MSG_TASK_GET,
                              .task_get = { 3, 8, k.no, "", "", 60000, true } });
    rid = next_rid;
    cr_assert_null(answer(rid));
    k = take(RTR, "q", 1, 0)->v[0];
    turn();
    cr_assert_null(answer(rid));
    cr_assert_eq(settle(SETTLE_ACK, &k), CODE_DONE);
    turn();
    cr_assert_eq(answer(rid)->task_get_ans.state, TASK_SUCCEEDED);
    cr_assert_eq(answer(rid)->task_get_ans.result.n, 2);
    cr_assert_eq(answer(rid)->task_get_ans.result_length, 2);
    cr_assert_eq(answer(rid)->task_get_ans.result_sha256.n, RESULT_SHA256);
}

Test(task_table, of_a_result_that_is_dropped_length_and_hash_stay)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "",
                            .name = "", .own = { .max_result = 0 + 1 } };
    const struct msg_task_get_ans *m;
    struct taken_row k;

    open_part(3, 8);
    send(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    k = take(RTR, "q", 1, 0)->v[0];
    cr_assert_eq(settle(SETTLE_ACK, &k), CODE_DONE);
    turn();
    again();
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    send(RTR, &(struct msg){ .type = MSG_TASK_GET, .task_get = { 3, 8, k.no, "", "", 0, true } });
    m = &answer(next_rid)->task_get_ans;
    cr_expect_eq(m->state, TASK_SUCCEEDED);
    cr_expect_eq(m->result.n, 0);
    cr_expect_eq(m->result_length, 2);
    cr_expect_eq(m->own.max_result, 0 + 1);
}

Test(task_table, a_paused_pool_gives_nothing)
{
    uint64_t rid;

    open_part(3, 8);
    put_at(3, 8, "q", "body");
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 8, "q*", 0, NULL, 100, true } });
    cr_assert_null(take(RTR, "q", 1, 5000));
    turn();
    again();
    cr_assert(tasktab_part(t, 3)->paused);
    tasktab_up(t, MNG, RPC_MANAGER, "m1", &out);
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    cr_assert_null(take(RTR, "q", 1, 5000));
    rid = next_rid;
    open_part(3, 8);
    cr_assert_eq(answer(rid)->task_take_ans.n, 1);
}

/* The answer to an `ack` was lost with the node, or its link: the same again is the same. */
Test(task_table, a_repeated_ack_is_the_same)
{
    struct taken_row k, other;

    open_part(3, 8);
    put_at(3, 8, "q", "body");
    put_at(3, 8, "q", "another");
    k = take(RTR, "q", 1, 0)->v[0];
    other = take(RTR, "q", 1, 0)->v[0];
    cr_assert_eq(settle(SETTLE_ACK, &k), CODE_DONE);
    cr_expect_eq(settle(SETTLE_ACK, &k), CODE_SAME);
    cr_expect_eq(settle(SETTLE_NACK, &k), CODE_CONFLICT, "another outcome is none");
    turn();
    again();
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    cr_expect_eq(settle(SETTLE_ACK, &k), CODE_SAME, "also behind a kill");
    buf_reset(&rig.log.b);
    cr_assert(!tasktab_snapshot(t, true, tabrig_record, &rig.snap));
    again();
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    cr_expect_eq(settle(SETTLE_ACK, &k), CODE_SAME, "from a snapshot, too");
    k.lease++;
    cr_expect_eq(settle(SETTLE_ACK, &k), CODE_CONFLICT, "another lease is none");
    cr_expect_eq(settle(SETTLE_ACK, &other), CODE_DONE);
}

static const struct settled_row *say_settle(struct settle_row r)
{
    r.part = 3;
    r.epoch = 8;
    send(RTR, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { 1, &r, { 0 } } });
    return &answer(next_rid)->task_settle_ans.v[0];
}

Test(task_table, a_repeated_nack_is_the_same)
{
    const struct settled_row *a;
    struct taken_row k, again_row;
    int64_t until;

    open_part(3, 8);
    put_at(3, 8, "q", "body");
    k = take(RTR, "q", 1, 0)->v[0];
    a = say_settle((struct settle_row){ .verb = SETTLE_NACK, .no = k.no, .lease = k.lease, .ms = 5000 });
    cr_assert_eq(a->code, CODE_DONE);
    until = a->until_ms;
    a = say_settle((struct settle_row){ .verb = SETTLE_NACK, .no = k.no, .lease = k.lease, .ms = 5000 });
    cr_expect(a->code == CODE_SAME && a->state == TASK_RETRYING && a->until_ms == until);
    cr_expect_eq(settle(SETTLE_ACK, &k), CODE_CONFLICT, "another outcome is none");
    turn();
    again();
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    cr_expect_eq(settle(SETTLE_NACK, &k), CODE_SAME, "also behind a kill");
    pass(5001);
    again_row = take(RTR, "q", 1, 0)->v[0];
    cr_expect_eq(settle(SETTLE_NACK, &k), CODE_SAME, "another worker has it by now");
    cr_assert_eq(engine_cancel(&tasktab_part(t, 3)->e, k.no), 1);
    cr_expect_eq(settle(SETTLE_NACK, &again_row), CODE_DONE, "and is stopped");
    cr_expect_eq(settle(SETTLE_NACK, &again_row), CODE_SAME);
    cr_expect_eq(settle(SETTLE_NACK, &k), CODE_CONFLICT, "long ago");
}

Test(task_table, a_nack_whose_lease_was_over_is_a_conflict)
{
    struct taken_row k;

    open_part(3, 8);
    put_at(3, 8, "q", "body");
    k = take(RTR, "q", 1, 0)->v[0];
    pass(60001);
    cr_expect_eq(settle(SETTLE_NACK, &k), CODE_CONFLICT);
    cr_expect_eq(settle(SETTLE_NACK, &k), CODE_CONFLICT);
}

/* The link broke under the answer: its router says so when it is up again. */
Test(task_table, what_a_take_was_given_that_was_not_heard_waits_again)
{
    const struct msg_task_take_ans *k;
    struct taken_row first;
    uint64_t rid;

    open_part(3, 8);
    put_at(3, 8, "q", "one");
    put_at(3, 8, "q", "two");
    put_at(3, 8, "q", "three");
    k = take(RTR, "q", 2, 0);
    cr_assert_eq(k->n, 2);
    first = k->v[0];
    rid = next_rid;
    turn();
    tasktab_down(t, RTR);
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    cr_expect_eq(say_settle((struct settle_row){ .verb = SETTLE_UNHEARD, .lease = rid + 100 })->code, CODE_DONE);
    cr_expect_eq(tasktab_part(t, 3)->e.store.n[TASK_RUNNING], 2, "another take");
    cr_expect_eq(say_settle((struct settle_row){ .verb = SETTLE_UNHEARD, .lease = rid })->code, CODE_DONE);
    cr_expect_eq(tasktab_part(t, 3)->e.store.n[TASK_RUNNING], 0);
    cr_expect_eq(settle(SETTLE_ACK, &first), CODE_CONFLICT);
    k = take(RTR, "q", 3, 0);
    cr_assert_eq(k->n, 3);
    for (uint32_t i = 0; i < 3; i++)
        cr_expect(k->v[i].body.n == (i == 2 ? 5 : 3) && k->v[i].attempt == 1, "in their order");
    cr_expect_eq(k->v[0].no, first.no);
    cr_expect_eq(say_settle((struct settle_row){ .verb = SETTLE_UNHEARD, .lease = rid })->code, CODE_DONE);
    cr_expect_eq(tasktab_part(t, 3)->e.store.n[TASK_RUNNING], 3, "once");
}

Test(task_table, a_router_that_stops_ends_its_takes_and_no_others)
{
    uint64_t his, others, looks;
    task_no no;

    open_part(3, 8);
    no = put_at(3, 8, "p", "body").no;
    cr_assert_null(take(RTR, "q", 1, 5000));
    his = next_rid;
    send(RTR, &(struct msg){ .type = MSG_TASK_GET, .task_get = { .part = 3, .epoch = 8, .no = no, .wait_ms = 5000,
                                                                 .queue = "", .name = "" } });
    looks = next_rid;
    cr_assert_null(take(RTR2, "q", 1, 5000));
    others = next_rid;
    cr_expect_eq(say_settle((struct settle_row){ .verb = SETTLE_UNHEARD })->code, CODE_DONE);
    cr_assert_not_null(answer(his));
    cr_expect(answer(his)->task_take_ans.n == 0 && answer(his)->task_take_ans.code == CODE_DONE);
    cr_expect_null(answer(looks));
    cr_expect_null(answer(others));
}

/* Nobody takes them: nothing happens at the partition, and their age grows all the same. */
Test(task_table, the_oldest_grows_older_while_no_worker_comes)
{
    struct tasktab_counts n;

    open_part(3, 8);
    put_at(3, 8, "q", "body");
    pass(60000);
    put_at(3, 8, "q", "another");
    for (int s = 0; s < 180; s++)
        pass(1000);
    tasktab_count(t, &n);
    cr_expect_eq(n.oldest_ms, 240000, "%llu", (unsigned long long)n.oldest_ms);
    cr_assert_not_null(take(RTR, "q", 1, 0));
    for (int s = 0; s < 10; s++)
        pass(1000);
    tasktab_count(t, &n);
    cr_expect_eq(n.oldest_ms, 190000, "%llu", (unsigned long long)n.oldest_ms);
}

/* The bound of the node: what is over at any of its partitions gives way, also to another one. */
Test(task_table, a_node_at_its_bound_lets_go_what_is_over)
{
    struct tasktab_counts n;

    t->o.max_tasks = 20;
    open_part(3, 8);
    open_part(4, 8);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(put_at(3, 8, "q", "body").code, CODE_DONE);
    cr_expect_eq(put_at(4, 8, "q", "body").code, CODE_FULL, "all of them wait");
    pass(1);
    pass(3 * 3600000 + 1000); /* task_ttl: they expire */
    for (int i = 0; i < 20; i++)
        cr_assert_eq(put_at(4, 8, "q", "body").code, CODE_DONE, "%d", i);
    cr_expect_eq(put_at(3, 8, "q", "body").code, CODE_FULL);
    tasktab_count(t, &n);
    cr_expect_eq(n.tasks, 20);
    cr_expect_eq(n.gave_way, 20);
}

/* What is no new task costs nobody a result: least of all the very one that is asked for again. */
Test(task_table, only_a_new_task_makes_a_result_give_way)
{
    struct task_put done = { .part = 3, .epoch = 8, .queue = "q1", .key1 = "", .key2 = "", .name = "", .digest = 4,
                             .key = { 1, (const uint8_t *)"k" }, .body = { 4, (const uint8_t *)"body" } };
    struct task_put held = done, full = done, other = done;
    struct task_rules rules;
    struct tasktab_counts n;
    struct taken_row k;
    struct task_put_row first;
    uint64_t bodies;

    t->o.max_tasks = 3;
    open_part(3, 8);
    rules_default(&rules);
    rules.max_waiting = 1;
    cr_assert_eq(engine_define(&tasktab_part(t, 3)->e, "q*", &rules), 0);
    first = put_row(&done);
    k = take(RTR, "q1", 1, 0)->v[0];
    cr_assert_eq(settle(SETTLE_ACK, &k), CODE_DONE);
    held.queue = "q2";
    held.key.n = 0;
    held.unique = (struct bytes_of){ 1, (const uint8_t *)"u" };
    held.on_conflict = UNIQUE_REJECT;
    cr_assert_eq(put_row(&held).code, CODE_DONE);
    full.queue = "q3";
    full.key.n = 0;
    cr_assert_eq(put_row(&full).code, CODE_DONE);
    bodies = rig.n_bodies;
    cr_expect_eq(put_row(&done).code, CODE_SAME);
    other.digest++;
    cr_expect_eq(put_row(&other).code, CODE_MISMATCH);
    cr_expect_eq(put_row(&held).code, CODE_HELD);
    cr_expect_eq(put_row(&full).code, CODE_FULL, "its queue is full");
    tasktab_full(t, true);
    cr_expect_eq(put_row(&done).code, CODE_SAME, "the disk has no room, and needs none");
    full.queue = "q4";
    cr_expect_eq(put_row(&full).code, CODE_FULL);
    tasktab_full(t, false);
    tasktab_count(t, &n);
    cr_expect_eq(n.gave_way, 0);
    cr_expect_eq(rig.n_bodies, bodies, "no payload is written for what is refused, or there already");
    cr_expect_eq(put_row(&done).no, first.no);
    cr_expect_eq(put_row(&full).code, CODE_DONE);
    tasktab_count(t, &n);
    cr_expect_eq(n.gave_way, 1);
    cr_expect_eq(n.tasks, 3);
}

/* ---- operators --------------------------------------------------------------------- */

static const struct msg_task_do_ans *operate(struct msg_task_do q)
{
    q.part = q.part != 0 ? q.part : 3;
    q.epoch = q.epoch != 0 ? q.epoch : 8;
    q.queue = q.queue != NULL ? q.queue : "";
    q.key1 = q.key2 = "";
    q.label = q.label != NULL ? q.label : "";
    send(MNG, &(struct msg){ .type = MSG_TASK_DO, .task_do = q });
    cr_assert_not_null(answer(next_rid));
    return &answer(next_rid)->task_do_ans;
}

static const struct msg_task_do_ans *order(enum task_do verb, task_no no)
{
    return operate((struct msg_task_do){ .verb = verb, .no = no });
}

Test(task_table, callers_are_told_no_place_beyond_the_cap_and_operators_are)
{
    struct task_rules rules;
    const struct msg_task_get_ans *m;
    task_no last = 0;

    ok(EPOCH, 77);
    rules_default(&rules);
    rules.position_cap = 2;
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 8, "q*", sizeof(rules) / sizeof(uint64_t),
                                            (uint64_t *)&rules, 100, false } });
    turn();
    for (uint64_t i = 1; i <= 3; i++) {
        last = put_at(3, 8, "q", "x").no;
        send(RTR, &(struct msg){ .type = MSG_TASK_GET, .task_get = { 3, 8, last, "", "", 0, false } });
        m = &answer(next_rid)->task_get_ans;
        cr_expect(m->position == (i < 2 ? i : 2) && m->position_capped == (i > 2));
    }
    cr_expect_eq(order(DO_LOOK, last)->v[0].position, 3);
}

Test(task_table, an_operator_is_told_of_a_task_and_steers_it)
{
    const struct msg_task_do_ans *m;
    task_no first, second;

    ok(EPOCH, 77);
    open_part(3, 8);
    first = put_at(3, 8, "q", "one").no;
    second = put_at(3, 8, "q", "two").no;
    m = order(DO_LOOK, second);
    cr_assert(m->code == CODE_DONE && m->n == 1);
    cr_expect_eq(m->v[0].position, 2);
    cr_expect_eq(order(DO_RUN, second)->code, CODE_DONE);
    cr_expect_eq(take(RTR, "q", 1, 0)->v[0].no, second, "before the first one");
    m = order(DO_REDRIVE, first);
    cr_assert(m->code == CODE_CONFLICT && m->n == 1, "refused, with its state");
    cr_expect_eq(m->v[0].state, TASK_WAITING);
    m = order(DO_CANCEL, first);
    cr_assert(m->code == CODE_DONE && m->v[0].state == TASK_CANCELLED);
    m = order(DO_DISCARD, first);
    cr_expect(m->code == CODE_DONE && m->n == 0, "nothing is left to be told");
    cr_expect_eq(order(DO_LOOK, first)->code, CODE_UNKNOWN);
    cr_expect_eq(order(DO_NVERBS + 5, second)->code, CODE_INVALID, "of a newer manager");
    cr_expect_eq(operate((struct msg_task_do){ .verb = DO_LOOK, .no = second, .epoch = 7 })->code,
                 CODE_STALE);
    turn();
}

Test(task_table, a_list_goes_on_where_it_was)
{
    struct msg_task_do q = { .verb = DO_LIST, .queue = "q", .states = 1u << TASK_WAITING,
                             .most = 2 };
    const struct msg_task_do_ans *m;
    unsigned seen = 0;

    ok(EPOCH, 77);
    open_part(3, 8);
    for (unsigned i = 0; i < 5; i++)
        put_at(3, 8, i == 3 ? "qq" : "q", "x");
    do {
        m = operate(q);
        cr_assert_eq(m->code, CODE_DONE);
        for (uint32_t i = 0; i < m->n; i++)
            cr_expect_str_eq(m->v[i].queue, "q");
        seen += m->n;
        q.after = m->after;
    } while (q.after != 0);
    cr_expect_eq(seen, 4);
    q.queue = "nothing";
    cr_expect_eq(operate(q)->n, 0);
    tasktab_hold(t, true);
    q.queue = "q";
    cr_expect_eq(operate(q)->n, 2, "also while nothing can be written");
    cr_expect_eq(order(DO_CANCEL, m->v[0].no)->code, CODE_BUSY);
    tasktab_hold(t, false);
}

Test(task_table, a_list_and_a_cancel_know_labels)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "q", .key1 = "", .key2 = "",
                            .name = "", .own = { .labels = "red,blue" } };
    struct msg_task_do q = { .verb = DO_LIST, .queue = "q", .states = UINT32_MAX, .most = 9,
                             .label = "blue" };

    ok(EPOCH, 77);
    open_part(3, 8);
    put_at(3, 8, "q", "x");
    send(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    cr_expect_eq(operate(q)->n, 1);
    q.label = "blu";
    cr_expect_eq(operate(q)->n, 0);
    q.verb = DO_CANCEL_LABEL;
    q.label = "";
    cr_expect_eq(operate(q)->code, CODE_INVALID, "it would be all of them");
    q.label = "red";
    cr_expect_eq(operate(q)->done, 1);
    q = (struct msg_task_do){ .verb = DO_LIST, .queue = "q", .states = 1u << TASK_WAITING, .most = 9 };
    cr_expect_eq(operate(q)->n, 1, "the one without a label");
    turn();
}

Test(task_table, two_looks_tell_the_same_moment_however_two_clocks_are_rounded)
{
    task_no no;
    int64_t first;

    ok(EPOCH, 77);
    open_part(3, 8);
    no = put_at(3, 8, "q", "one").no;
    first = order(DO_LOOK, no)->v[0].entered_ms;
    now.ms += 10;
    now.wall_ms += 11;
    turn();
    cr_expect_eq(order(DO_LOOK, no)->v[0].entered_ms, first);
    now.ms += 10;
    now.wall_ms += 9;
    turn();
    cr_expect_eq(order(DO_LOOK, no)->v[0].entered_ms, first);
    now.wall_ms += 3000;
    turn();
    cr_expect_eq(order(DO_LOOK, no)->v[0].entered_ms, first + 3000, "the wall was set");
}

Test(task_table, a_look_tells_attempts_a_list_does_not)
{
    const struct msg_task_take_ans *k;
    const struct msg_task_do_ans *m;
    struct settle_row r;
    task_no no;

    ok(EPOCH, 77);
    open_part(3, 8);
    no = put_at(3, 8, "q", "one").no;
    k = take(RTR, "q", 1, 0);
    r = (struct settle_row){ .part = 3, .epoch = 8, .verb = SETTLE_NACK, .no = no,
                             .lease = k->v[0].lease, .ms = 5000,
                             .reason = { 3, (const uint8_t *)"why" } };
    now.ms += 250;
    now.wall_ms += 250;
    turn();
    send(RTR, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { 1, &r, { 0 } } });
    cr_assert_eq(answer(next_rid)->task_settle_ans.v[0].code, CODE_DONE);
    turn();
    again();
    tasktab_up(t, MNG, RPC_MANAGER, "m1", &out);
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    ok(EPOCH, 77);
    m = order(DO_LOOK, no);
    cr_assert_eq(m->v[0].n_history, 1, "also after a restart");
    cr_expect_eq(m->v[0].history[0].no, 1);
    cr_expect_eq(m->v[0].history[0].end, ATTEMPT_GIVEN_BACK);
    cr_expect_eq(m->v[0].history[0].ended_ms - m->v[0].history[0].started_ms, 250);
    cr_expect_geq(m->v[0].history[0].again_ms - m->v[0].history[0].ended_ms, 5000);
    cr_expect_eq(m->v[0].history[0].reason.n, 3);
    m = operate((struct msg_task_do){ .verb = DO_LIST, .queue = "q", .states = UINT32_MAX, .most = 9 });
    cr_expect(m->n == 1 && m->v[0].n_history == 0, "a thousand of them would be a long frame");
    cr_assert_eq(order(DO_CANCEL, no)->code, CODE_DONE);
    cr_assert_eq(order(DO_DISCARD, no)->code, CODE_DONE);
    r.no = put_at(3, 8, "q", "next").no;
    cr_assert_eq(r.no & (TASKS_MAX - 1), no & (TASKS_MAX - 1), "in its slot");
    cr_expect_eq(order(DO_LOOK, r.no)->v[0].n_history, 0, "nothing of the one before it");
    turn();
}

Test(task_table, a_paused_pool_runs_nothing_by_order)
{
    task_no no;

    ok(EPOCH, 77);
    open_part(3, 8);
    no = put_at(3, 8, "q", "x").no;
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 8, "q*", 0, NULL, 100, true } });
    cr_expect_eq(order(DO_RUN, no)->code, CODE_CONFLICT);
}

Test(task_table, a_lease_cannot_be_guessed)
{
    struct taken_row k[20];
    uint64_t seen;

    open_part(3, 8);
    for (unsigned i = 0; i < ARRAY_LEN(k); i++)
        put_at(3, 8, "q", "x");
    for (unsigned i = 0; i < ARRAY_LEN(k); i++)
        k[i] = take(RTR, "q", 1, 0)->v[0];
    for (uint64_t i = 0; i < 100; i++) /* as a count from 1, or near that of another one */
        for (unsigned j = 0; j < ARRAY_LEN(k); j++) {
            cr_expect_eq(settle(SETTLE_EXTEND, &(struct taken_row){ .no = k[j].no, .lease = i }),
                         CODE_CONFLICT);
            seen = k[(j + 1) % ARRAY_LEN(k)].lease + i;
            cr_expect_eq(settle(SETTLE_EXTEND, &(struct taken_row){ .no = k[j].no, .lease = seen }),
                         CODE_CONFLICT);
        }
    cr_expect_eq(settle(SETTLE_EXTEND, &k[1]), CODE_DONE);
    turn();
    again(); /* it is the same after a restart */
    tasktab_up(t, MNG, RPC_MANAGER, "m1", &out);
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    ok(EPOCH, 77);
    cr_expect_eq(settle(SETTLE_ACK, &k[0]), CODE_DONE);
    cr_expect_eq(settle(SETTLE_NACK, &k[1]), CODE_DONE);
}

Test(task_table, who_may_not_in_its_queue_does_not_learn_whether_there_is_a_task)
{
    struct msg_task_change c = { .part = 3, .epoch = 8, .verb = CHANGE_PATCH, .queue = "", .name = "",
                                 .patch = { .has = PATCH_PRIORITY, .priority = 3, .labels = "" } };
    struct taken_row k;

    open_part(3, 8);
    put_at(3, 8, "q/a", "x");
    k = take(RTR, "q/a", 1, 0)->v[0];
    for (unsigned i = 0; i < 2; i++) {
        const struct taken_row row = { .no = i == 0 ? k.no : 99, .lease = k.lease };

        cr_expect_eq(settle_in("q/b,other,q/a/*", SETTLE_ACK, &row), CODE_DENIED);
        cr_expect_eq(answer(next_rid)->task_settle_ans.v[0].state, 0);
        cr_expect_eq(settle_in("q/b", SETTLE_NACK, &row), CODE_DENIED);
        cr_expect_eq(settle_in("q/", SETTLE_EXTEND, &row), CODE_DENIED);
        c.no = row.no;
        c.queues = (struct bytes_of){ 3, (const uint8_t *)"q/b" };
        send(RTR, &(struct msg){ .type = MSG_TASK_CHANGE, .task_change = c });
        cr_expect_eq(answer(next_rid)->task_change_ans.code, CODE_DENIED);
        cr_expect_eq(answer(next_rid)->task_change_ans.state, 0);
    }
    cr_expect_eq(settle_in("q/b,q/*", SETTLE_EXTEND, &k), CODE_DONE);
    cr_expect_eq(settle_in("q/b,q/a", SETTLE_ACK, &k), CODE_DONE);
}

Test(task_table, bodies_go_with_what_has_them)
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

Test(task_table, while_nothing_can_be_written_it_only_answers_looks)
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

Test(task_table, a_task_whose_body_is_gone_is_not_given_out)
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

Test(task_table, old_bodies_are_copied_and_then_go)
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

Test(task_table, a_limit_falls_behind_what_its_turn_accepted)
{
    uint64_t before;

    open_part(3, 8);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(put_at(3, 8, "q", "a").code, CODE_DONE);
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, 3, 8, "q*", 0, NULL, 1, false } });
    turn();
    cr_expect_eq(put_at(3, 8, "q", "a").code, CODE_FULL);
    turn();
    before = tabrig_digest(&rig);
    cr_expect_eq(again(), before, "what is above it is read again");
}

Test(task_table, a_snapshot_behind_a_lower_limit_has_what_is_above_it)
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

Test(task_table, what_is_written_makes_the_same_table)
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
Test(task_table, a_snapshot_has_what_a_replay_said_while_nothing_could_be_written)
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
