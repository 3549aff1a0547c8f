/* sim_sustained.c: an hour of submissions at a constant pace, each task taken and acknowledged, at a node
 * whose bound is a fraction of what passes through it. Results are kept for an hour, so nearly all have to
 * give way. Judged at each turn:
 *   no submission is refused, each task is taken
 *   tasks and bodies of the node stay below the bound
 * and at the end the newest results are there. */
#include "tests/lib/criterion.h"
#include <sodium.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/wire/msg.h"
#include "task/engine/change.h"
#include "task/node/parts.h"

enum { MNG = 1, RTR = 2 };
#define EPOCH   5
#define PART    3
#define PARTS   2u
#define MOST    20000u /* tasks of the node */
#define TURN_MS 50
#define EACH    25u /* tasks a turn and partition: 1000 a second */
#define HOUR    (3600 * 1000 / TURN_MS)

static struct hour {
    uint64_t handed; /* bytes of long messages that the link was given */
    struct tasktab *t;
    struct outbox out;
    struct task_now now;
    struct buf record; /* the last one */
    uint64_t rid, bodies, body_most, made, done;
    task_no last[PARTS][MOST / PARTS]; /* numbers of the newest: a ring */
} h;

static void *forget(void *ctx, uint8_t kind, size_t n)
{
    (void)ctx, (void)kind;
    h.record.len = 0;
    return buf_reserve(&h.record, n);
}

static int put(struct bodies *ctx, const uint8_t *p, uint32_t n, uint64_t *ref)
{
    (void)ctx, (void)p, (void)n;
    *ref = ++h.made;
    h.bodies++;
    if (h.bodies > h.body_most)
        h.body_most = h.bodies;
    return 0;
}

static int get(struct bodies *ctx, uint64_t ref, struct buf *to)
{
    (void)ctx;
    buf_append(to, &ref, sizeof(ref));
    return 0;
}

static void drop(struct bodies *ctx, uint64_t ref)
{
    (void)ctx, (void)ref;
    h.bodies--;
}

static uint32_t bytes(uint64_t ref)
{
    return ref != 0 ? sizeof(ref) : 0;
}

static bool is_old(const struct bodies *ctx, uint64_t ref)
{
    (void)ctx, (void)ref;
    return false;
}

static int copy(struct bodies *ctx, uint64_t ref, uint64_t *to)
{
    (void)ref;
    return put(ctx, NULL, 0, to);
}

/* What has been said leaves: the link has room for all of it. */
static void leave(void)
{
    for (uint32_t i = 0; i < h.out.n; i++)
        h.handed += h.out.v[i].to == RTR ? h.out.v[i].bulk : 0;
    outbox_reset(&h.out);
    tasktab_link(h.t, h.now, RTR, h.handed, 0);
}

static const struct msg *ask(peer_no from, const struct msg *m)
{
    leave();
    tasktab_msg(h.t, h.now, from, ++h.rid, m, &h.out);
    for (uint32_t i = 0; i < h.out.n; i++)
        if (h.out.v[i].rid == h.rid)
            return &h.out.v[i].m;
    return NULL;
}

static void turn(void)
{
    leave();
    cr_assert(tasktab_turn(h.t, h.now, &h.out));
    tasktab_written(h.t);
}

static void begin(void)
{
    struct tasktab_opts o = { .addr = "127.0.0.1:1", .admin = "", .max_tasks = MOST, .max_keys = MOST,
                              .seed = { 7 }, .bodies = { put, get, drop, bytes, is_old, copy, NULL },
                              .record = forget };

    cr_assert_geq(sodium_init(), 0);
    log_set_level(LOG_ERROR);
    h = (struct hour){ .now = { .ms = 1700000000000, .wall_ms = 1700000000000 } };
    outbox_init(&h.out);
    h.t = tasktab_new(&o);
    cr_assert_not_null(h.t);
    tasktab_up(h.t, MNG, RPC_MANAGER, "m1", &h.out);
    tasktab_up(h.t, RTR, RPC_ROUTER, "r1", &h.out);
    ask(MNG, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH, 1, 77 } });
    for (unsigned i = 0; i < PARTS; i++) {
        ask(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                                .part_open = { .epoch = EPOCH, .part = PART + i, .part_epoch = 8,
                                               .match = i == 0 ? "a" : "b", .max_tasks = MOST } });
        turn();
    }
}

static void submit(unsigned part, unsigned turn_no)
{
    struct task_put rows[EACH];
    const struct msg *m;

    for (unsigned i = 0; i < EACH; i++)
        rows[i] = (struct task_put){ .part = PART + part, .epoch = 8, .queue = part == 0 ? "a" : "b",
                                     .key1 = "", .key2 = "", .name = "",
                                     .body = { 4, (const uint8_t *)"body" } };
    m = ask(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { EACH, rows } });
    cr_assert(m != NULL && m->task_put_ans.n == EACH);
    for (unsigned i = 0; i < EACH; i++)
        cr_assert_eq(m->task_put_ans.v[i].code, CODE_DONE, "%d, at %ld ms", m->task_put_ans.v[i].code,
                     (long)h.now.ms);
    for (unsigned i = 0; i < EACH; i++)
        h.last[part][(turn_no * EACH + i) % (MOST / PARTS)] = m->task_put_ans.v[i].no;
}

static void work(unsigned part)
{
    struct settle_row rows[EACH];
    const struct msg *m =
        ask(RTR, &(struct msg){ .type = MSG_TASK_TAKE,
                                .task_take = { PART + part, 8, part == 0 ? "a" : "b", EACH, 60000, 0 } });
    uint32_t n;

    cr_assert(m != NULL && m->task_take_ans.n == EACH);
    n = m->task_take_ans.n;
    for (uint32_t i = 0; i < n; i++) {
        const struct taken_row *k = &m->task_take_ans.v[i];

        rows[i] = (struct settle_row){ PART + part, 8, SETTLE_ACK, k->no, k->lease, 0,
                                       { 2, (const uint8_t *)"ok" }, { 0 }, { 0 } };
    }
    m = ask(RTR, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { n, rows, { 0 } } });
    cr_assert(m != NULL && m->task_settle_ans.n == n);
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(m->task_settle_ans.v[i].code, CODE_DONE);
    h.done += n;
}

static void end(void)
{
    tasktab_free(h.t);
    outbox_fini(&h.out);
    buf_fini(&h.record);
}

static void hour(void)
{
    struct tasktab_counts n;

    for (unsigned i = 0; i < HOUR; i++) {
        for (unsigned p = 0; p < PARTS; p++)
            submit(p, i);
        h.now.ms += TURN_MS;
        h.now.wall_ms += TURN_MS;
        turn();
        for (unsigned p = 0; p < PARTS; p++)
            work(p);
        turn();
        tasktab_count(h.t, &n);
        cr_assert_leq(n.tasks, MOST);
    }
    cr_expect_eq(h.done, (uint64_t)HOUR * EACH * PARTS);
    cr_expect_eq(n.engine.gave_way, h.done - MOST);
    cr_expect_leq(h.body_most, MOST + 2 * EACH * PARTS);
}

static void newest_are_there(unsigned part)
{
    const struct engine *e = &tasktab_part(h.t, (part_no)(PART + part))->e;
    struct task_view v;

    for (unsigned i = 0; i < MOST / PARTS; i++)
        cr_expect(engine_look(e, h.last[part][i], &v) == 0 && v.state == TASK_SUCCEEDED, "%u", i);
}

Test(sim_sustained, an_hour_at_a_constant_pace_refuses_nothing)
{
    begin();
    hour();
    for (unsigned p = 0; p < PARTS; p++)
        newest_are_there(p);
    end();
}
