/* fuzz_task_node.c: a hostile router, a hostile task node that copies partitions, and a manager that
 * is not always right. Whatever they say of partitions, tasks and leases, what the node answers fits
 * on the wire, and what it has written makes the same table again, with every body in its place.
 * Bytes: steps, each a letter and its numbers. */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/task/call.h"
#include "common/ticket/token.h"
#include "common/wire/codec.h"
#include "common/wire/msg.h"
#include "tests/lib/fuzz_bytes.h"
#include "tests/lib/tabrig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MNG = 1, ROUTER = 2, PEER = 3, KNOWN = 16 };

struct world {
    struct fuzz_bytes in;
    struct tabrig rig;
    struct task_now now;
    struct outbox out;
    uint64_t rid;
    task_no no[KNOWN];     /* some that it has heard of */
    uint64_t lease[KNOWN]; /* likewise */
    unsigned heard;
    struct buf chunk; /* the last one of its own that it sent */
};

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void quiet(void *ctx, enum log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    (void)line;
}

static void hear(struct world *w, const struct msg *m)
{
    uint32_t n = m->type == MSG_TASK_PUT_ANS    ? m->task_put_ans.n
                 : m->type == MSG_TASK_TAKE_ANS ? m->task_take_ans.n
                                                : 0;

    if (m->type == MSG_PCOPY_CHUNK) {
        buf_reset(&w->chunk);
        buf_append(&w->chunk, m->pcopy_chunk.data.p, m->pcopy_chunk.data.n);
    }
    for (uint32_t i = 0; i < n; i++, w->heard++) {
        bool taken = m->type == MSG_TASK_TAKE_ANS;

        w->no[w->heard % KNOWN] = taken ? m->task_take_ans.v[i].no : m->task_put_ans.v[i].no;
        w->lease[w->heard % KNOWN] = taken ? m->task_take_ans.v[i].lease : 0;
    }
}

/* All that it says must be fit for the wire. */
static void hear_all(struct world *w)
{
    struct buf body;

    buf_init(&body);
    must(!w->out.failed);
    for (uint32_t i = 0; i < w->out.n; i++) {
        must(msg_encode(&w->out.v[i].m, &body) == 0);
        must(body.len <= FRAME_MAX_BODY);
        hear(w, &w->out.v[i].m);
        buf_reset(&body);
    }
    buf_fini(&body);
    outbox_reset(&w->out);
}

static void message(struct world *w, peer_no from, const struct msg *m)
{
    struct arena mem;
    struct buf body;
    struct msg in;

    arena_init(&mem);
    buf_init(&body);
    if (msg_encode(m, &body) == 0 && msg_decode(m->type, body.data, body.len, &mem, &in) == 0)
        tasktab_msg(w->rig.t, w->now, from, ++w->rid, &in, &w->out);
    hear_all(w);
    buf_fini(&body);
    arena_fini(&mem);
}

static void turn(struct world *w)
{
    must(tasktab_turn(w->rig.t, w->now, &w->out));
    tasktab_written(w->rig.t);
    hear_all(w);
}

static void links(struct world *w)
{
    tasktab_up(w->rig.t, MNG, RPC_MANAGER, "manager", &w->out);
    tasktab_up(w->rig.t, ROUTER, RPC_ROUTER, "router", &w->out);
    tasktab_up(w->rig.t, PEER, RPC_TASK, "peer", &w->out);
    hear_all(w);
}

static part_no part(struct world *w)
{
    return (part_no)(fuzz_num(&w->in) % 4);
}

static const char *queue(struct world *w)
{
    static const char *const names[] = { "q", "q1", "q2", "other", "" };

    return names[fuzz_num(&w->in) % ARRAY_LEN(names)];
}

static struct bytes_of bytes(struct world *w)
{
    struct bytes_of b;

    b.p = fuzz_take(&w->in, &b.n);
    return b;
}

static void open_part(struct world *w)
{
    uint64_t rules[POOL_RULES_MAX] = { 0 };
    struct msg_part_open m = { .epoch = 1 + fuzz_num(&w->in) % 3, .part = part(w),
                               .part_epoch = 1 + fuzz_num(&w->in) % 2, .match = "q*",
                               .rules = rules };

    m.n_rules = fuzz_num(&w->in) % 4;
    for (uint32_t i = 0; i < m.n_rules; i++)
        rules[i] = fuzz_num(&w->in);
    m.max_tasks = (uint32_t)fuzz_num(&w->in);
    m.paused = fuzz_num(&w->in) % 4 == 3;
    message(w, MNG, &(struct msg){ .type = MSG_PART_OPEN, .part_open = m });
}

static void put(struct world *w)
{
    struct task_put v[3];
    struct msg_task_put m = { 1 + fuzz_num(&w->in) % 3, v };

    for (uint32_t i = 0; i < m.n; i++) {
        v[i] = (struct task_put){ .part = part(w), .epoch = 1 + fuzz_num(&w->in) % 2,
                                  .queue = queue(w), .key1 = queue(w), .key2 = queue(w),
                                  .name = queue(w), .digest = fuzz_num(&w->in) % 2,
                                  .priority = (uint8_t)(fuzz_num(&w->in) % TASK_PRIORITIES),
                                  .order = (int64_t)fuzz_num(&w->in),
                                  .delay_ms = (int64_t)fuzz_num(&w->in),
                                  .at_ms = (int64_t)fuzz_num(&w->in) };
        v[i].key = bytes(w);
        v[i].body = bytes(w);
    }
    message(w, ROUTER, &(struct msg){ .type = MSG_TASK_PUT, .task_put = m });
}

static task_no number(struct world *w, unsigned *i)
{
    uint64_t v = fuzz_num(&w->in);

    *i = (unsigned)(v % KNOWN);
    return v < FUZZ_WIDE ? w->no[*i] : v;
}

static void settle(struct world *w)
{
    struct settle_row v = { .part = part(w), .epoch = 1 + fuzz_num(&w->in) % 2,
                            .verb = (uint8_t)(fuzz_num(&w->in) % SETTLE_NVERBS) };
    unsigned i;

    v.no = number(w, &i);
    v.lease = w->lease[i];
    v.ms = (uint32_t)fuzz_num(&w->in);
    v.result = bytes(w);
    message(w, ROUTER, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { 1, &v, { 0 } } });
}

/* What a target says later: mostly with the right to it. */
static void complete(struct world *w)
{
    struct msg_task_complete m = { .part = part(w), .epoch = 1 + fuzz_num(&w->in) % 2,
                                   .verb = (uint8_t)(fuzz_num(&w->in) % COMPLETE_NVERBS),
                                   .content_type = queue(w) };
    const struct part *p = tasktab_part(w->rig.t, m.part);
    struct attempt_right right = { .part = m.part };
    unsigned i;

    m.no = right.no = number(w, &i);
    m.lease = right.lease = w->lease[i];
    m.attempt = right.attempt = (uint8_t)(fuzz_num(&w->in) % (ATTEMPTS_MAX + 1));
    m.status = (uint32_t)(fuzz_num(&w->in) % (REPLY_STATUS_MAX + 1));
    m.ms = (uint32_t)fuzz_num(&w->in);
    m.result = bytes(w);
    if (p != NULL && fuzz_num(&w->in) % 8 != 0)
        right_sign(&right, p->seed);
    m.right = (struct bytes_of){ RIGHT_MAC_BYTES, right.mac };
    message(w, ROUTER, &(struct msg){ .type = MSG_TASK_COMPLETE, .task_complete = m });
}

static void change(struct world *w)
{
    struct msg_task_change m = { .part = part(w), .epoch = 1 + fuzz_num(&w->in) % 2 };
    uint64_t verb = fuzz_num(&w->in), how = verb / CHANGE_NVERBS;
    unsigned i;

    m.verb = (uint8_t)(verb % CHANGE_NVERBS);
    m.force = how % 2;
    m.unbegun = how / 2 % 2;
    m.queue = queue(w);
    m.name = queue(w);
    m.no = number(w, &i);
    m.patch.order = (int64_t)fuzz_num(&w->in);
    m.patch.delay_ms = (int64_t)fuzz_num(&w->in);
    m.patch.at_ms = (int64_t)fuzz_num(&w->in);
    m.patch.has = (uint32_t)fuzz_num(&w->in);
    m.patch.priority = (uint8_t)fuzz_num(&w->in);
    m.patch.labels = queue(w); /* some are labels, "" is none */
    message(w, ROUTER, &(struct msg){ .type = MSG_TASK_CHANGE, .task_change = m });
}

static void operate(struct world *w)
{
    struct msg_task_do m = { .part = part(w), .epoch = 1 + fuzz_num(&w->in) % 2, .key1 = "",
                             .key2 = "" };
    uint64_t verb = fuzz_num(&w->in);
    unsigned i;

    m.verb = (uint32_t)(verb % (DO_NVERBS + 1));
    m.force = verb / (DO_NVERBS + 1) % 2;
    m.queue = queue(w);
    m.no = number(w, &i);
    m.states = (uint32_t)fuzz_num(&w->in);
    m.after = (uint32_t)fuzz_num(&w->in);
    m.most = (uint32_t)fuzz_num(&w->in);
    m.label = queue(w);
    message(w, MNG, &(struct msg){ .type = MSG_TASK_DO, .task_do = m });
}

static void get(struct world *w)
{
    struct msg_task_get m = { .part = part(w), .epoch = 1 + fuzz_num(&w->in) % 2,
                              .queue = queue(w), .name = queue(w) };
    unsigned i;

    m.no = number(w, &i);
    m.wait_ms = (uint32_t)fuzz_num(&w->in);
    m.result = true;
    message(w, ROUTER, &(struct msg){ .type = MSG_TASK_GET, .task_get = m });
}

static void take(struct world *w)
{
    struct msg_task_take m = { .part = part(w), .epoch = 1 + fuzz_num(&w->in) % 2,
                               .queue = queue(w) };

    m.most = 1 + (uint32_t)(fuzz_num(&w->in) % TASK_ROWS_MAX);
    m.lease_ms = (uint32_t)fuzz_num(&w->in);
    m.wait_ms = (uint32_t)fuzz_num(&w->in);
    message(w, ROUTER, &(struct msg){ .type = MSG_TASK_TAKE, .task_take = m });
}

static void copy_out(struct world *w)
{
    struct msg_part_out m = { .epoch = 3, .part = part(w), .part_epoch = 1 + fuzz_num(&w->in) % 3,
                              .to_epoch = 1 + fuzz_num(&w->in) % 4, .node = "peer", .addr = "p:1" };

    message(w, MNG, &(struct msg){ .type = MSG_PART_OUT, .part_out = m });
}

static void copy_begins(struct world *w)
{
    struct msg_pcopy_begin m = { .part = part(w), .part_epoch = fuzz_num(&w->in) % 4, .match = "q*",
                                 .max_tasks = (uint32_t)fuzz_num(&w->in),
                                 .tasks = (uint32_t)fuzz_num(&w->in) };

    message(w, PEER, &(struct msg){ .type = MSG_PCOPY_BEGIN, .pcopy_begin = m });
}

/* Records of the fuzzer's; or what this node sent of another partition, with a byte changed. */
static void copy_chunk(struct world *w)
{
    struct msg_pcopy_chunk m = { .part = part(w), .part_epoch = fuzz_num(&w->in) % 4 };
    uint64_t at, x;

    m.seq = (uint32_t)fuzz_num(&w->in);
    m.last = fuzz_num(&w->in) % 2;
    m.tasks = (uint32_t)fuzz_num(&w->in);
    m.data = bytes(w);
    at = fuzz_num(&w->in);
    x = fuzz_num(&w->in);
    if (m.data.n == 0 && w->chunk.len > 0) {
        w->chunk.data[at % w->chunk.len] ^= (uint8_t)x;
        m.data = (struct bytes_of){ (uint32_t)w->chunk.len, w->chunk.data };
    }
    message(w, PEER, &(struct msg){ .type = MSG_PCOPY_CHUNK, .pcopy_chunk = m });
}

static void copy_acked(struct world *w)
{
    struct msg_pcopy_ack m = { .part = part(w), .part_epoch = fuzz_num(&w->in) % 4 };

    m.seq = (uint32_t)fuzz_num(&w->in);
    m.state = (uint8_t)(fuzz_num(&w->in) % (PCOPY_REFUSED + 1));
    message(w, PEER, &(struct msg){ .type = MSG_PCOPY_ACK, .pcopy_ack = m });
}

/* The end of the process, and its next start. */
static void restart(struct world *w)
{
    uint64_t was;

    turn(w);
    was = tabrig_digest(&w->rig);
    must(tabrig_again(&w->rig, w->now) == was);
    links(w);
}

static void snapshot(struct world *w)
{
    bool begin = true, more = true;

    turn(w);
    buf_reset(&w->rig.log.b);
    buf_reset(&w->rig.snap.b);
    for (; more; begin = false) {
        more = tasktab_snapshot(w->rig.t, begin, tabrig_record, &w->rig.snap);
        put(w);
        turn(w);
    }
}

static void step(struct world *w)
{
    switch (fuzz_num(&w->in)) {
    case 'o':
        open_part(w);
        break;
    case 'd':
        message(w, MNG, &(struct msg){ .type = MSG_PART_DROP,
                                        .part_drop = { 3, part(w), fuzz_num(&w->in) % 4 } });
        break;
    case 'p':
        put(w);
        break;
    case 'k':
        take(w);
        break;
    case 's':
        settle(w);
        break;
    case 'e':
        complete(w);
        break;
    case 'c':
        change(w);
        break;
    case 'x':
        operate(w);
        break;
    case 'g':
        get(w);
        break;
    case 'O':
        copy_out(w);
        break;
    case 'B':
        copy_begins(w);
        break;
    case 'C':
        copy_chunk(w);
        break;
    case 'A':
        copy_acked(w);
        break;
    case 't':
        turn(w);
        w->now.ms += (msec_t)(fuzz_num(&w->in) % (1u << 30));
        w->now.wall_ms = 1 + (msec_t)(fuzz_num(&w->in) % ((uint64_t)1 << 41));
        break;
    case 'h':
        turn(w);
        tasktab_hold(w->rig.t, fuzz_num(&w->in) % 2);
        break;
    case 'm':
        turn(w);
        w->rig.old_to = fuzz_num(&w->in);
        tasktab_copy_bodies(w->rig.t, w->now);
        break;
    case 'l':
        tasktab_down(w->rig.t, ROUTER);
        tasktab_up(w->rig.t, ROUTER, RPC_ROUTER, "router", &w->out);
        break;
    case 'n':
        snapshot(w);
        break;
    case 'r':
        restart(w);
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *w = calloc(1, sizeof(*w));

    must(w != NULL);
    log_set_sink(quiet, NULL);
    w->in = (struct fuzz_bytes){ data, data + (size > 4096 ? 4096 : size) };
    w->now = (struct task_now){ 1700000000000, 1700000000000 };
    outbox_init(&w->out);
    tabrig_new(&w->rig);
    links(w);
    while (w->in.p < w->in.end)
        step(w);
    restart(w);
    tabrig_fini(&w->rig);
    outbox_fini(&w->out);
    buf_fini(&w->chunk);
    free(w);
    return 0;
}
