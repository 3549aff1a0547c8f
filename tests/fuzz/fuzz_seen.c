/* fuzz_seen.c: a hostile router. Whatever it says of polls that it answered (MSG_SEEN), of a node's
 * tickets or of none, each mark counts once, nobody joins or leaves by it, and the node goes on:
 * ticks, pushes, the end of the link. Bytes: steps, each a byte and its numbers. */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/wire/codec.h"
#include "segment/core/state.h"
#include "segment/node/segtab.h"
#include "tests/lib/fuzz_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MNG = 1, ROUTER = 2, SEG = 1, QUEUE = 7, TICKETS = 600, ROWS_MAX = 4 };

struct world {
    struct fuzz_bytes in;
    struct segtab *t;
    struct seg_now now;
    struct arena mem;
    bool up;
};

static void must(bool ok)
{
    if (!ok)
        abort();
}

static int make_pass(void *ctx, const struct seg_pass *p, char *out)
{
    (void)ctx;
    (void)p;
    memcpy(out, "pass", 4);
    return 4;
}

/* All that it says must be fit for the wire. */
static void enter(struct world *w, struct segtab_in in)
{
    struct outbox out;
    struct buf body;

    outbox_init(&out);
    buf_init(&body);
    in.now = w->now;
    segtab_step(w->t, &in, &out);
    must(!out.failed);
    for (uint32_t i = 0; i < out.n; i++)
        must(msg_encode(&out.v[i].m, &body) == 0);
    buf_fini(&body);
    outbox_fini(&out);
}

static void message(struct world *w, peer_no from, struct msg m)
{
    enter(w, (struct segtab_in) { .kind = SEGTAB_MSG, .peer = from, .msg = &m });
}

static void router_up(struct world *w)
{
    enter(w, (struct segtab_in) { .kind = SEGTAB_UP, .peer = ROUTER, .role = RPC_ROUTER,
                                  .name = "router" });
    w->up = true;
}

static void begin(struct world *w)
{
    struct msg_rules rules = { .epoch = 1, .queue = QUEUE, .name = "sale", .issuer = "test",
                               .idle_ms = { 3000, 5000, 8000 }, .claim_ms = 2000,
                               .grace_ms = 3000, .pass_ttl_s = 10, .n_lanes = 1,
                               .lanes = { "default" } };
    struct append_req join = { .seg = SEG };
    struct append_ans ans;

    enter(w, (struct segtab_in) { .kind = SEGTAB_UP, .peer = MNG, .role = RPC_MANAGER,
                                  .name = "manager" });
    router_up(w);
    message(w, MNG, (struct msg) { .type = MSG_NODE_OK, .node_ok = { .epoch = 1, .no = 1 } });
    message(w, MNG, (struct msg) { .type = MSG_RULES, .rules = rules });
    message(w, MNG, (struct msg) { .type = MSG_SEG_OPEN,
                                   .seg_open = { .epoch = 1, .seg = SEG, .queue = QUEUE,
                                                 .kind = OPEN_TAIL, .capacity = 2 * TICKETS } });
    for (uint32_t i = 0; i < TICKETS; i++) {
        segtab_append(w->t, w->now, &join, 1, &ans, &w->mem);
        must(ans.state == APPEND_OK);
    }
}

static struct segtab_counts counts(const struct world *w)
{
    struct segtab_counts n;

    segtab_count(w->t, &n);
    return n;
}

static void seen(struct world *w)
{
    struct seen_row row[ROWS_MAX] = { 0 };
    struct msg m = { .type = MSG_SEEN, .seen = { .v = row } }, in;
    struct segtab_counts was = counts(w), is;
    struct buf body;

    m.seen.flags = (uint8_t)fuzz_num(&w->in);
    m.seen.clock_ms = (msec_t)fuzz_num(&w->in);
    m.seen.seq = fuzz_num(&w->in);
    m.seen.n = fuzz_num(&w->in) % (ROWS_MAX + 1);
    for (uint32_t i = 0; i < m.seen.n; i++) {
        row[i].name = fuzz_num(&w->in);
        row[i].client = (uint8_t)(fuzz_num(&w->in) % CLIENT_NCLASSES);
        row[i].marks = fuzz_take(&w->in, &row[i].n_marks);
    }
    buf_init(&body);
    arena_reset(&w->mem);
    if (msg_encode(&m, &body) == 0 &&
        msg_decode(MSG_SEEN, body.data, body.len, &w->mem, &in) == 0)
        message(w, ROUTER, in);
    buf_fini(&body);
    is = counts(w);
    must(is.waiting == was.waiting && is.tickets == was.tickets);
    must(is.seen_late - was.seen_late <= is.seen_marks - was.seen_marks);
}

static void step(struct world *w)
{
    struct drop_req leave = { .seg = SEG };
    struct drop_ans ans;
    uint64_t ms;

    switch (fuzz_num(&w->in)) {
    case 's':
        if (w->up)
            seen(w);
        break;
    case 't':
        ms = fuzz_num(&w->in) % 10000;
        w->now.now_ms += (msec_t)ms;
        w->now.wall_ms += (int64_t)ms;
        ms = fuzz_num(&w->in) % 10000;
        enter(w, (struct segtab_in) { .kind = SEGTAB_TICK, .silent_ms = (msec_t)ms });
        break;
    case 'w':
        segtab_pending(w->t, ROUTER, fuzz_num(&w->in) % (16u << 20));
        break;
    case 'l':
        leave.number = (uint32_t)fuzz_num(&w->in);
        segtab_drop(w->t, w->now, &leave, 1, &ans);
        break;
    case 'u':
        if (w->up)
            enter(w, (struct segtab_in) { .kind = SEGTAB_DOWN, .peer = ROUTER,
                                          .role = RPC_ROUTER });
        router_up(w);
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct segtab_opts o = { .max_tickets = 1u << 12, .max_segments = 100, .addr = "", .admin = "",
                             .make_pass = make_pass };
    struct world w = { .in = { data, data + size }, .now = { 1000000, 1700000000000 } };

    if (size > 4096)
        return 0;
    log_set_level(LOG_ERROR);
    arena_init(&w.mem);
    w.t = segtab_new(&o);
    must(w.t != NULL);
    begin(&w);
    while (w.in.p < w.in.end)
        step(&w);
    segtab_free(w.t);
    arena_fini(&w.mem);
    return 0;
}
