/* test_task_service.c: a whole task node (tasknoderig.h): tasks that workers take. */
#include "task/service/service.h"

#include <sys/syscall.h>
#include <time.h>

#include "common/task/rules.h"
#include "common/task/state.h"
#include "tests/lib/tasknoderig.h"

#define HOUR_S 3600

static time_t asleep_s; /* time that the machine slept: CLOCK_MONOTONIC alone stood */

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, ts);

    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME))
        ts->tv_sec += asleep_s;
    return rc;
}

TestSuite(task_service, .init = task_node_setup, .fini = task_node_teardown);

static void open_part(part_no no, uint64_t epoch)
{
    unsigned before = mng.seen[MSG_PART_STATUS];

    say(&mng, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { 5, no, epoch, "img/*", 0, NULL, 1000, false } }, 0);
    WAIT(mng.seen[MSG_PART_STATUS] > before && mng.last[MSG_PART_STATUS].part_status.n > 0);
    cr_assert_eq(mng.last[MSG_PART_STATUS].part_status.v[0].part_epoch, epoch);
}

static uint8_t settle(uint8_t verb, const struct taken_row *k, const char *result)
{
    struct settle_row r = { 3, 8, verb, k->no, k->lease, 0,
                            { (uint32_t)strlen(result), (const uint8_t *)result }, { 0 }, { 0 } };

    return ask(&(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { 1, &r, { 0 } } },
               MSG_TASK_SETTLE_ANS)->task_settle_ans.v[0].code;
}

Test(task_service, a_task_is_submitted_taken_and_done)
{
    const struct msg_task_take_ans *t;
    const struct msg_task_get_ans *g;
    struct taken_row k;
    task_no no;

    open_part(3, 8);
    no = put("hello");
    g = get(no);
    cr_assert_eq(g->state, TASK_WAITING);
    cr_expect_eq(g->position, 1);
    cr_expect_str_eq(g->queue, "img/a");
    t = take(5, 0);
    cr_assert_eq(t->n, 1);
    k = t->v[0];
    cr_expect_eq(k.no, no);
    cr_expect(k.body.n == 5 && memcmp(k.body.p, "hello", 5) == 0);
    cr_expect_str_eq(k.key1, "k");
    cr_expect_eq(settle(SETTLE_ACK, &(struct taken_row){ .no = no, .lease = k.lease + 1 }, "x"),
                 CODE_CONFLICT);
    cr_expect_eq(settle(SETTLE_ACK, &k, "done!"), CODE_DONE);
    cr_expect_eq(settle(SETTLE_ACK, &k, "done!"), CODE_SAME);
    g = get(no);
    cr_assert_eq(g->state, TASK_SUCCEEDED);
    cr_expect(g->result.n == 5 && memcmp(g->result.p, "done!", 5) == 0);
}

Test(task_service, nothing_is_lost_by_a_restart)
{
    struct taken_row k;
    task_no no[3];

    open_part(3, 8);
    for (int i = 0; i < 3; i++)
        no[i] = put(i == 0 ? "first" : "other");
    k = take(1, 0)->v[0];
    node_end();
    start_node();
    cr_assert_eq(mng.last[MSG_TASK_REG].task_reg.n, 1);
    cr_assert_eq(mng.last[MSG_TASK_REG].task_reg.v[0].epoch, 8);
    cr_assert_eq(mng.last[MSG_TASK_REG].task_reg.epoch_seen, 5);
    cr_expect_eq(get(no[0])->state, TASK_RUNNING);
    cr_expect_eq(settle(SETTLE_ACK, &k, ""), CODE_DONE);
    cr_assert_eq(take(5, 0)->n, 2);
}

/* Its delay, and the lease of a worker that slept along, have gone on by no hour. */
static void nothing_leapt(task_no late, task_no ran)
{
    cr_expect_eq(get(late)->state, TASK_SCHEDULED, "%ld h", (long)asleep_s / HOUR_S);
    cr_expect_eq(get(ran)->state, TASK_RUNNING, "%ld h", (long)asleep_s / HOUR_S);
}

Test(task_service, a_machine_that_sleeps_starts_nothing_early)
{
    struct task_put one = put_of("x");
    task_no late, ran;

    open_part(3, 8);
    one.delay_ms = 6 * HOUR_S * 1000;
    late = ask(&(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } },
               MSG_TASK_PUT_ANS)->task_put_ans.v[0].no;
    ran = put("y");
    cr_assert_eq(take(1, 0)->n, 1);
    asleep_s += 8 * HOUR_S; /* and runs on */
    nothing_leapt(late, ran);
    node_end();
    start_node(); /* under the same start of the machine */
    nothing_leapt(late, ran);
    node_end();
    asleep_s += 8 * HOUR_S; /* while there is no process */
    start_node();
    nothing_leapt(late, ran);
}

Test(task_service, a_waiting_take_gets_what_comes)
{
    uint64_t rid = 1000000;

    open_part(3, 8);
    say(&rtr, &(struct msg){ .type = MSG_TASK_TAKE,
                             .task_take = { 3, 8, "img/a", 5, 0, 60000 } }, rid);
    put("late");
    WAIT(rtr.rid[MSG_TASK_TAKE_ANS] == rid);
    cr_assert_eq(rtr.last[MSG_TASK_TAKE_ANS].task_take_ans.n, 1);
    cr_assert_eq(take(5, 20)->n, 0, "its time is over");
}

Test(task_service, other_epochs_are_stale)
{
    struct task_put one = put_of("x");

    open_part(3, 8);
    one.epoch = 7;
    cr_assert_eq(ask(&(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } },
                     MSG_TASK_PUT_ANS)->task_put_ans.v[0].code, CODE_STALE);
    say(&mng, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { 5, 3, 7, "img/*", 0, NULL, 1000, false } }, 0);
    WAIT(mng.seen[MSG_ERROR] == 1);
    say(&mng, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { 4, 3, 9, "img/*", 0, NULL, 1000, false } }, 0);
    WAIT(mng.seen[MSG_ERROR] == 2);
    cr_assert_eq(mng.last[MSG_ERROR].error.code, SQ_ESTALE);
}

Test(task_service, a_delayed_task_comes_in_time)
{
    struct task_put one = put_of("x");

    open_part(3, 8);
    one.delay_ms = 300;
    ask(&(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } }, MSG_TASK_PUT_ANS);
    cr_assert_eq(take(1, 0)->n, 0);
    cr_assert_eq(take(1, 5000)->n, 1);
}

/* Each answer wakes a router and a worker: those due within a few ms come in one. */
Test(task_service, delays_that_end_closely_share_an_answer)
{
    struct task_put rows[100];
    unsigned got = 0, answers = 0;

    open_part(3, 8);
    for (unsigned i = 0; i < 100; i++) {
        rows[i] = put_of("x");
        rows[i].delay_ms = 300 + i;
    }
    ask(&(struct msg){ .type = MSG_TASK_PUT, .task_put = { 100, rows } }, MSG_TASK_PUT_ANS);
    for (; got < 100; answers++)
        got += take(64, 5000)->n;
    cr_expect_leq(answers, 32, "%u answers for a hundred ms", answers);
}
