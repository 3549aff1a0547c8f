/* test_task_shared.c: the table over a shared store that keeps what it is told: which answers wait for
 * its word, and what a manager hears of a planned move. */
#include "task/node/table.h"

#include "tests/lib/criterion.h"
#include <sodium.h>
#include <string.h>

#include "common/base/log.h"
#include "common/wire/msg.h"
#include "tests/lib/tabrig.h"

enum { MNG = 1, RTR = 2, MNG2 = 3 };
#define EPOCH 5
#define NO    3

static struct tabrig rig;
static struct outbox out;
static struct task_now now;
static unsigned asks; /* in this turn, or since */

static int st_open(void *ctx, part_no no, uint64_t epoch)
{
    (void)ctx, (void)no, (void)epoch;
    return 0;
}

static void st_close(void *ctx, part_no no, bool for_ever)
{
    (void)ctx, (void)no, (void)for_ever;
}

static void st_ask(void *ctx, part_no no)
{
    (void)ctx;
    cr_expect_eq(no, NO);
    asks++;
}

static void *st_record(void *ctx, part_no no, uint8_t kind, size_t n)
{
    (void)no;
    return tabrig_record(&((struct tabrig *)ctx)->log, kind, n);
}

static int st_put(void *ctx, part_no no, const uint8_t *p, uint32_t n, uint64_t *ref)
{
    (void)no;
    return tabrig_put(ctx, p, n, ref);
}

static void st_drop(void *ctx, part_no no, uint64_t ref)
{
    (void)no;
    tabrig_drop(ctx, ref);
}

static int st_want(void *ctx, part_no no, uint64_t ref, uint8_t *to)
{
    const struct buf *b = &((struct tabrig *)ctx)->body[ref];

    (void)no;
    memcpy(to, b->data, b->len);
    return 0;
}

static const struct tab_shared shared = { st_open, st_close, st_ask,       st_record,
                                          st_put,  st_drop,  tabrig_bytes, st_want };

static void say(peer_no from, const struct msg *m)
{
    static uint64_t rid;

    tasktab_msg(rig.t, now, from, ++rid, m, &out);
}

static const struct msg *said(enum msg_type type)
{
    const struct msg *m = NULL;

    for (uint32_t i = 0; i < out.n; i++)
        if (out.v[i].m.type == type)
            m = &out.v[i].m;
    cr_assert_not_null(m);
    return m;
}

static void turn(void)
{
    cr_assert(tasktab_turn(rig.t, now, &out));
    tasktab_written(rig.t);
}

static void setup(void)
{
    cr_assert_geq(sodium_init(), 0);
    log_set_level(LOG_ERROR);
    now = (struct task_now){ 1700000000000, 1700000000000 };
    outbox_init(&out);
    rig.shared = &shared;
    tabrig_new(&rig);
    tasktab_up(rig.t, MNG, RPC_MANAGER, "m", &out);
    tasktab_up(rig.t, RTR, RPC_ROUTER, "r", &out);
    say(MNG, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH, 1, 0 } });
    say(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                            .part_open = { EPOCH, NO, 1, "q*", 0, NULL, 100, false } });
    cr_assert_eq(tasktab_loaded(rig.t, now, NO, NULL, 0, tabrig_live, &rig), 0);
    turn();
    outbox_reset(&out);
    asks = 0;
}

static void teardown(void)
{
    tabrig_fini(&rig);
    outbox_fini(&out);
}

TestSuite(task_shared, .init = setup, .fini = teardown);

static void put(void)
{
    struct task_put one = { .part = NO, .epoch = 1, .queue = "q", .key1 = "", .key2 = "", .name = "",
                            .body = { 1, (const uint8_t *)"a" } };

    say(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    cr_assert_eq(said(MSG_TASK_PUT_ANS)->task_put_ans.v[0].code, CODE_DONE);
}

Test(task_shared, an_answer_waits_for_the_store)
{
    put();
    turn();
    cr_expect_eq(asks, 1);
}

/* Another node has it by then, or none: who was told "accepted" would have lost the task. */
Test(task_shared, an_answer_waits_although_its_partition_is_dropped_in_the_same_turn)
{
    put();
    say(MNG, &(struct msg){ .type = MSG_PART_DROP, .part_drop = { EPOCH, NO, 1 } });
    turn();
    cr_assert_null(tasktab_part(rig.t, NO));
    cr_expect_eq(asks, 1);
}

/* A registration does not wait: the store may not have the ends of the calls yet. */
Test(task_shared, a_status_alone_says_that_the_calls_have_ended)
{
    say(MNG, &(struct msg){ .type = MSG_PART_OUT,
                            .part_out = { EPOCH, NO, 1, 2, "b", "10.0.0.2:1" } });
    turn();
    outbox_reset(&out);
    asks = 0;
    now.ms += 1000;
    turn();
    cr_expect_eq(said(MSG_PART_STATUS)->part_status.v[0].life, PART_LEFT);
    cr_expect_eq(said(MSG_PART_STATUS)->part_status.v[0].to_epoch, 2, "for which move");
    cr_expect_eq(asks, 1);
    tasktab_up(rig.t, MNG2, RPC_MANAGER, "m2", &out);
    cr_expect_eq(said(MSG_TASK_REG)->task_reg.v[0].life, PART_OWNED);
}
