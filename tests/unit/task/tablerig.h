/* tablerig.h: a table between a manager, two routers and a journal in memory, for the tests of a node. */
#ifndef SEGQ_TESTS_TABLERIG_H
#define SEGQ_TESTS_TABLERIG_H

#include "task/node/table.h"

#include "tests/lib/criterion.h"
#include <sodium.h>
#include <string.h>

#include "common/base/log.h"
#include "common/wire/msg.h"
#include "tests/lib/tabrig.h"

enum { MNG = 1, RTR = 2, RTR2 = 3, MNG2 = 4 };
#define EPOCH 5

static struct tabrig rig;
static struct tasktab *t; /* rig.t */
static struct outbox out;
static struct task_now now;
static uint64_t next_rid;

static inline void turn(void)
{
    cr_assert(tasktab_turn(t, now, &out));
    tasktab_written(t);
}

static inline void pass(msec_t ms)
{
    now.ms += ms;
    now.wall_ms += ms;
    outbox_reset(&out);
    turn();
}

static inline void setup(void)
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

static inline void teardown(void)
{
    tabrig_fini(&rig);
    outbox_fini(&out);
}

static inline void send(peer_no from, const struct msg *m)
{
    outbox_reset(&out);
    tasktab_msg(t, now, from, ++next_rid, m, &out);
}

/* The answer to the last question; NULL: none yet. */
static inline const struct msg *answer(uint64_t rid)
{
    for (uint32_t i = 0; i < out.n; i++)
        if (out.v[i].rid == rid)
            return &out.v[i].m;
    return NULL;
}

static inline void open_part(part_no no, uint64_t epoch)
{
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { EPOCH, no, epoch, "q*", 0, NULL, 100, false } });
    turn();
}

static inline void ok(uint64_t epoch, uint64_t store)
{
    send(MNG, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { epoch, 1, store } });
}

static inline struct task_put_row put_row(struct task_put *one)
{
    const struct msg *m;

    send(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, one } });
    m = answer(next_rid);
    cr_assert(m != NULL && m->task_put_ans.n == 1);
    return m->task_put_ans.v[0];
}

static inline struct task_put_row put_at(part_no no, uint64_t epoch, const char *queue, const char *body)
{
    struct task_put one = { .part = no, .epoch = epoch, .queue = queue, .key1 = "", .key2 = "",
                            .name = "", .digest = strlen(body),
                            .body = { (uint32_t)strlen(body), (const uint8_t *)body } };

    return put_row(&one);
}

/* NULL: it waits. */
static inline const struct msg_task_take_ans *take(peer_no from, const char *queue, uint32_t most,
                                            uint32_t wait_ms)
{
    const struct msg *m;

    send(from, &(struct msg){ .type = MSG_TASK_TAKE,
                              .task_take = { 3, 8, queue, most, 60000, wait_ms } });
    m = answer(next_rid);
    return m != NULL ? &m->task_take_ans : NULL;
}

/* Settlement by a server that may do so in the queues; "": in all. */
static inline uint8_t settle_in(const char *queues, uint8_t verb, const struct taken_row *k)
{
    struct settle_row r = { 3, 8, verb, k->no, k->lease, 0, { 2, (const uint8_t *)"ok" }, { 0 }, { 0 } };
    struct msg_task_settle q = { 1, &r, { (uint32_t)strlen(queues), (const uint8_t *)queues } };

    send(RTR, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = q });
    return answer(next_rid)->task_settle_ans.v[0].code;
}

static inline uint8_t settle(uint8_t verb, const struct taken_row *k)
{
    return settle_in("", verb, k);
}

static inline uint64_t again(void)
{
    uint64_t read = tabrig_again(&rig, now);

    t = rig.t;
    return read;
}

#endif
