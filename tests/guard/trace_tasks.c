/* trace_tasks.c: the task node's core as its shell runs it: a frame decoded, done, the turn ended,
 * its answers encoded. A submission is one of a frame of TRACE_BATCH, of 1 KB, with a key; work is
 * a take of WORK, and their acknowledgement in one frame. Files are not in it: bodies are counted,
 * records go to a buffer. */
#include "tests/guard/trace.h"

#include <stdio.h>
#include <string.h>

#include "common/wire/codec.h"
#include "task/node/table.h"

#define WORK    16u
#define BODY    1024
#define MNG     1 /* peers */
#define RTR     2
#define PART    3
#define EPOCH   5
#define TENANTS 64
#define LEASE   600000
#define NOW     1700000000000

static struct {
    struct tasktab *t;
    struct outbox out;
    struct arena mem;
    struct buf in, said, records;
    uint64_t bodies, rid;
    msec_t ms;
} w;

static const uint8_t body[BODY] = { '"', [1 ... BODY - 2] = 'x', '"' };

static int put_body(struct bodies *ctx, const uint8_t *p, uint32_t n, uint64_t *ref)
{
    (void)ctx;
    (void)p;
    *ref = n == 0 ? 0 : ++w.bodies;
    return 0;
}

static int get_body(struct bodies *ctx, uint64_t ref, struct buf *out)
{
    (void)ctx;
    (void)ref;
    buf_append(out, body, BODY);
    return 0;
}

static void drop_body(struct bodies *ctx, uint64_t ref)
{
    (void)ctx;
    (void)ref;
}

static bool is_old(const struct bodies *ctx, uint64_t ref)
{
    (void)ctx;
    (void)ref;
    return false;
}

static int copy_body(struct bodies *ctx, uint64_t ref, uint64_t *to)
{
    (void)ctx;
    *to = ref;
    return 0;
}

static void *record(void *ctx, uint8_t kind, size_t n)
{
    (void)ctx;
    (void)kind;
    buf_reset(&w.records);
    return buf_reserve(&w.records, n);
}

/* ---- a turn -------------------------------------------------------------------------------- */

static struct task_now now(void)
{
    return (struct task_now){ NOW + w.ms, NOW + w.ms };
}

static void begin(const struct msg *m)
{
    buf_reset(&w.in);
    if (msg_encode(m, &w.in) < 0)
        trace_die("a request does not encode");
}

/* Its name is on callgrind's command line. The frame in w.in, from bytes to bytes. */
void trace_task_turn(peer_no from, enum msg_type type);
__attribute__((noinline)) void trace_task_turn(peer_no from, enum msg_type type)
{
    struct msg q;

    if (msg_decode((uint16_t)type, w.in.data, w.in.len, &w.mem, &q) < 0)
        trace_die("a request does not decode");
    tasktab_msg(w.t, now(), from, ++w.rid, &q, &w.out);
    if (!tasktab_turn(w.t, now(), &w.out))
        trace_die("no memory");
    buf_reset(&w.said);
    for (uint32_t i = 0; i < w.out.n; i++)
        if (msg_encode(&w.out.v[i].m, &w.said) < 0)
            trace_die("an answer does not encode");
    tasktab_written(w.t);
    arena_reset(&w.mem);
}

/* The answer; it stays until the next turn. */
static const struct msg *ask(peer_no from, const struct msg *m)
{
    outbox_reset(&w.out);
    w.ms++;
    begin(m);
    trace_task_turn(from, m->type);
    for (uint32_t i = 0; i < w.out.n; i++)
        if (w.out.v[i].rid == w.rid)
            return &w.out.v[i].m;
    return NULL;
}

/* ---- requests ------------------------------------------------------------------------------ */

static void submit(void)
{
    static char key[TRACE_BATCH][16];
    struct task_put row[TRACE_BATCH];
    const struct msg *a;

    for (uint32_t i = 0; i < TRACE_BATCH; i++) {
        snprintf(key[i], sizeof(key[i]), "tenant%u", i % TENANTS);
        row[i] = (struct task_put){ .part = PART, .epoch = EPOCH, .queue = "images", .key1 = key[i],
                                    .key2 = "", .name = "", .body = { BODY, body } };
    }
    a = ask(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { TRACE_BATCH, row } });
    if (a == NULL || a->task_put_ans.n != TRACE_BATCH || a->task_put_ans.v[TRACE_BATCH - 1].code != CODE_DONE)
        trace_die("a submission is refused");
}

static void work(void)
{
    struct settle_row row[WORK];
    const struct msg *a = ask(RTR, &(struct msg){ .type = MSG_TASK_TAKE,
                                                  .task_take = { PART, EPOCH, "images", WORK, LEASE, 0 } });

    if (a == NULL || a->task_take_ans.n != WORK)
        trace_die("there is nothing to take");
    for (uint32_t i = 0; i < WORK; i++) {
        const struct taken_row *k = &a->task_take_ans.v[i];

        row[i] = (struct settle_row){ .part = PART, .epoch = EPOCH, .verb = SETTLE_ACK, .no = k->no,
                                      .lease = k->lease, .result = { 4, (const uint8_t *)"true" } };
    }
    a = ask(RTR, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { WORK, row, { 0 } } });
    if (a == NULL || a->task_settle_ans.v[WORK - 1].code != CODE_DONE)
        trace_die("an acknowledgement is refused");
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void start(void)
{
    struct tasktab_opts o = { .addr = "", .admin = "", .max_tasks = 1 << 22, .max_keys = 1 << 16,
                              .bodies = { put_body, get_body, drop_body, NULL, is_old, copy_body, NULL },
                              .record = record };

    w.t = tasktab_new(&o);
    if (w.t == NULL)
        trace_die("no memory");
    outbox_init(&w.out);
    arena_init(&w.mem);
    tasktab_up(w.t, MNG, RPC_MANAGER, "m", &w.out);
    tasktab_up(w.t, RTR, RPC_ROUTER, "r", &w.out);
    ask(MNG, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH, 1, 7 } });
    ask(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                            .part_open = { EPOCH, PART, EPOCH, "images", 0, NULL, 1 << 20, false } });
}

void trace_tasks(bool works, uint32_t n)
{
    start();
    for (uint32_t i = 0; i < n; i += TRACE_BATCH)
        submit();
    for (uint32_t i = 0; works && i < n; i += WORK)
        work();
    tasktab_free(w.t);
    outbox_fini(&w.out);
    arena_fini(&w.mem);
    buf_fini(&w.in);
    buf_fini(&w.said);
    buf_fini(&w.records);
}
