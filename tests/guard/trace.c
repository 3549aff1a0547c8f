/* trace.c: the hot paths on fixed traces with fixed seeds, for counting instructions.
 *
 *   trace rank|join|leave|poll|seen|replica|router|browser|known|known-browser|router-join|
 *         router-entry|router-put|task-put|task-life N
 *
 * rank is the line alone. join, leave and poll are the segment node's core as its shell
 * runs it: a batch's frame decoded, done, the answer's frame encoded; seen is a router's frame of
 * SEEN, by its marks; replica is the push to a router behind N leaves. router and browser
 * (the same with 680 bytes of headers) are polls through the real router, known and
 * known-browser those that it answers by itself, router-join is joins, router-entry those that
 * are let in at once, router-put tasks that are submitted one by one; task-put is a submission at the task node, task-life one that is taken and
 * acknowledged, too. instructions.sh runs each under callgrind. */
#include "tests/guard/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/codec.h"
#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/ticket/pace.h"
#include "common/wire/replica_bytes.h"
#include "segment/line/segq.h"
#include "segment/node/segtab.h"

#define WAITING 131072u /* a power of two: odd steps visit every one of them once */
#define STEP    40503u
#define SEG     1
#define ROUTER  2    /* peers; the manager is 1 */
#define MARKS   4096 /* of a SEEN: of a tenth of a second */

void trace_die(const char *what)
{
    fprintf(stderr, "trace: %s\n", what);
    exit(1);
}

/* ---- what is counted --------------------------------------------------------------- */

struct work {
    void (*fn)(struct work *w, uint32_t n);
    struct segq *q;
    const uint32_t *v;
    struct segtab *t;
    struct arena mem;
    struct buf out;
    struct buf *frames; /* requests, TRACE_BATCH in each; they come again and again */
    uint32_t n_frames;
    uint64_t sink; /* what was computed, so that it is not left out */
    union {
        struct place_ans place[TRACE_BATCH];
        struct append_ans append[TRACE_BATCH];
        struct drop_ans drop[TRACE_BATCH];
    } ans;
};

/* Its name is on callgrind's command line. */
void trace_counted(struct work *w, uint32_t n);
__attribute__((noinline)) void trace_counted(struct work *w, uint32_t n)
{
    w->fn(w, n);
}

static void do_rank(struct work *w, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (segq_is_alive(w->q, w->v[i]))
            w->sink += segq_rank(w->q, w->v[i]);
}

/* A frame's way through the node, as segment/service/service.c goes it. */
static void do_frame(struct work *w, const struct buf *in, enum msg_type type)
{
    struct seg_now now = { 1000, 1700000000000 };
    struct msg q, a = { 0 };

    if (msg_decode((uint16_t)type, in->data, in->len, &w->mem, &q) < 0)
        trace_die("a request does not decode");
    memset(&w->ans, 0, sizeof(w->ans));
    if (type == MSG_PLACE) {
        a.type = MSG_PLACE_ANS;
        a.place_ans = (struct msg_place_ans) { q.place.n, w->ans.place };
        segtab_place(w->t, now, q.place.req, q.place.n, w->ans.place, &w->mem);
        w->sink += w->ans.place[0].state == PLACE_WAITING;
    } else if (type == MSG_APPEND) {
        a.type = MSG_APPEND_ANS;
        a.append_ans = (struct msg_append_ans) { q.append.n, w->ans.append };
        segtab_append(w->t, now, q.append.req, q.append.n, w->ans.append, &w->mem);
        w->sink += w->ans.append[0].state == APPEND_OK;
    } else {
        a.type = MSG_DROP_ANS;
        a.drop_ans = (struct msg_drop_ans) { q.drop.n, w->ans.drop };
        segtab_drop(w->t, now, q.drop.req, q.drop.n, w->ans.drop);
        w->sink += w->ans.drop[0].state == DROP_OK;
    }
    buf_reset(&w->out);
    if (msg_encode(&a, &w->out) < 0)
        trace_die("an answer does not encode");
    arena_reset(&w->mem);
}

static void do_frames(struct work *w, uint32_t n, enum msg_type type)
{
    for (uint32_t i = 0; i < n / TRACE_BATCH; i++)
        do_frame(w, &w->frames[i % w->n_frames], type);
}

static void do_places(struct work *w, uint32_t n)
{
    do_frames(w, n, MSG_PLACE);
}

static void do_appends(struct work *w, uint32_t n)
{
    do_frames(w, n, MSG_APPEND);
}

static void do_drops(struct work *w, uint32_t n)
{
    do_frames(w, n, MSG_DROP);
}

/* ---- the line ---------------------------------------------------------------------- */

static void trace_rank(uint32_t n)
{
    uint32_t *v = malloc(n * sizeof(*v)), number;
    struct work w = { .fn = do_rank, .v = v };
    struct block_pool pool;
    struct segq q;
    struct rng r;

    if (v == NULL)
        trace_die("no memory");
    rng_seed(&r, 1);
    for (uint32_t i = 0; i < n; i++)
        v[i] = (uint32_t)rng_below(&r, WAITING);
    block_pool_init(&pool, UINT32_MAX);
    segq_init(&q, &pool);
    for (uint32_t i = 0; i < WAITING; i++)
        if (segq_append(&q, 100, &number) < 0)
            trace_die("no memory");
    w.q = &q;
    trace_counted(&w, n);
    if (w.sink == 0)
        trace_die("nobody had a rank");
    segq_fini(&q);
    block_pool_fini(&pool);
    free(v);
}

/* ---- the node's core --------------------------------------------------------------- */

static int no_pass(void *ctx, const struct seg_pass *p, char *out)
{
    (void)ctx;
    (void)p;
    (void)out;
    return -1;
}

static void step(struct segtab *t, struct segtab_in in)
{
    struct outbox out;

    in.now = (struct seg_now) { 1000, 1700000000000 };
    in.peer = in.peer != 0 ? in.peer : 1;
    outbox_init(&out);
    segtab_step(t, &in, &out);
    outbox_fini(&out);
}

static void order(struct segtab *t, struct msg m)
{
    step(t, (struct segtab_in) { .kind = SEGTAB_MSG, .msg = &m });
}

static struct segtab *node(void)
{
    struct segtab_opts o = { .max_tickets = 1 << 22,
                             .max_segments = 10,
                             .addr = "",
                             .admin = "",
                             .make_pass = no_pass };
    struct segtab *t = segtab_new(&o);

    if (t == NULL)
        trace_die("no memory");
    step(t, (struct segtab_in) { .kind = SEGTAB_UP, .role = 3, .name = "m" });
    order(t, (struct msg) { .type = MSG_NODE_OK, .node_ok = { 1, 1 } });
    order(t, (struct msg) { .type = MSG_RULES,
                            .rules = { .epoch = 1,
                                       .queue = 1,
                                       .name = "q",
                                       .issuer = "i",
                                       .idle_ms = { 60000, 60000, 60000 },
                                       .n_lanes = 1,
                                       .lanes = { "default" } } });
    order(t, (struct msg) { .type = MSG_SEG_OPEN,
                            .seg_open = { .epoch = 1, .seg = SEG, .queue = 1, .lane = 0,
                                          .kind = OPEN_TAIL, .capacity = 1 << 21,
                                          .ahead = 0 } });
    return t;
}

static void fill(struct segtab *t, uint32_t n)
{
    struct arena mem;

    arena_init(&mem);
    for (uint32_t i = 0; i < n; i++) {
        struct append_req q = { .seg = SEG };
        struct append_ans a;

        segtab_append(t, (struct seg_now) { 1000, 1700000000000 }, &q, 1, &a, &mem);
        if (a.state != APPEND_OK)
            trace_die("a join is refused");
    }
    arena_fini(&mem);
}

static void frame(struct buf *out, enum msg_type type, uint32_t first)
{
    struct place_req p[TRACE_BATCH];
    struct append_req a[TRACE_BATCH];
    struct drop_req d[TRACE_BATCH];
    struct msg m = { .type = type };

    for (uint32_t i = 0; i < TRACE_BATCH; i++) {
        uint32_t number = (first + i) * STEP % WAITING;

        p[i] = (struct place_req) { SEG, number, CLIENT_GAME };
        a[i] = (struct append_req) { .seg = SEG, .client = CLIENT_GAME };
        d[i] = (struct drop_req) { .seg = SEG, .number = number };
    }
    if (type == MSG_PLACE)
        m.place = (struct msg_place) { TRACE_BATCH, p };
    else if (type == MSG_APPEND)
        m.append = (struct msg_append) { TRACE_BATCH, a };
    else
        m.drop = (struct msg_drop) { TRACE_BATCH, d };
    buf_init(out);
    if (msg_encode(&m, out) < 0)
        trace_die("a request does not encode");
}

static void trace_node(enum msg_type type, uint32_t n)
{
    struct work w = { .t = node(), .n_frames = n / TRACE_BATCH };

    w.fn = type == MSG_PLACE ? do_places : type == MSG_APPEND ? do_appends : do_drops;
    w.frames = calloc(w.n_frames, sizeof(*w.frames));
    if (w.frames == NULL)
        trace_die("no memory");
    arena_init(&w.mem);
    buf_init(&w.out);
    fill(w.t, WAITING);
    for (uint32_t i = 0; i < w.n_frames; i++)
        frame(&w.frames[i], type, i * TRACE_BATCH);
    trace_counted(&w, n);
    if (w.sink != w.n_frames)
        trace_die("an answer is not the expected one");
    for (uint32_t i = 0; i < w.n_frames; i++)
        buf_fini(&w.frames[i]);
    free(w.frames);
    buf_fini(&w.out);
    arena_fini(&w.mem);
    segtab_free(w.t);
}

/* ---- the replica ----------------------------------------------------------------------- */

static void listen_to(struct segtab *t, struct msg_seen seen)
{
    struct msg m = { .type = MSG_SEEN, .seen = seen };

    step(t, (struct segtab_in) { .kind = SEGTAB_MSG, .peer = ROUTER, .msg = &m });
}

static void do_seen(struct work *w, uint32_t n)
{
    for (uint32_t i = 0; i < n / MARKS; i++) {
        struct msg m;

        if (msg_decode(MSG_SEEN, w->frames[i].data, w->frames[i].len, &w->mem, &m) < 0)
            trace_die("marks do not decode");
        listen_to(w->t, m.seen);
        arena_reset(&w->mem);
    }
}

static void do_push(struct work *w, uint32_t n)
{
    struct segtab_in in = { .now = { 1000, 1700000000000 }, .kind = SEGTAB_TICK };
    struct outbox out;

    (void)n;
    outbox_init(&out);
    segtab_step(w->t, &in, &out);
    for (uint32_t i = 0; i < out.n; i++)
        if (msg_encode(&out.v[i].m, &w->out) < 0)
            trace_die("a push does not encode");
    w->sink = w->out.len;
    outbox_fini(&out);
}

static void marks(struct buf *out, uint32_t first)
{
    static uint8_t bytes[MARKS * MARK_BYTES_MAX];
    struct seen_row row = { .name = SEG, .marks = bytes };
    struct msg m = { .type = MSG_SEEN, .seen = { .clock_ms = 1, .seq = 1, .n = 1, .v = &row } };
    uint8_t *p = bytes;
    uint32_t last = 0;

    for (uint32_t i = 0; i < MARKS; i++)
        p = mark_put(p, &last, (first + i) * 5 % WAITING, pace_class(5000 + i));
    row.n_marks = (uint32_t)(p - bytes);
    buf_init(out);
    if (msg_encode(&m, out) < 0)
        trace_die("marks do not encode");
}

static void trace_replica(bool push, uint32_t n)
{
    struct work w = { .t = node(), .n_frames = n / MARKS };

    w.fn = push ? do_push : do_seen;
    w.frames = calloc(w.n_frames + 1, sizeof(*w.frames));
    if (w.frames == NULL)
        trace_die("no memory");
    arena_init(&w.mem);
    buf_init(&w.out);
    fill(w.t, WAITING);
    step(w.t, (struct segtab_in) { .kind = SEGTAB_UP, .peer = ROUTER, .role = 1, .name = "r" });
    listen_to(w.t, (struct msg_seen) { .clock_ms = 1, .seq = 1 });
    for (uint32_t i = 0; i < w.n_frames; i++)
        marks(&w.frames[i], i * MARKS);
    for (uint32_t i = 0; push && i < n; i++)
        segtab_drop(w.t, (struct seg_now) { 1000, 1700000000000 },
                    &(struct drop_req) { .seg = SEG, .number = i * STEP % WAITING }, 1, w.ans.drop);
    trace_counted(&w, n);
    if (push && w.sink < n)
        trace_die("not all that died was said");
    for (uint32_t i = 0; i < w.n_frames; i++)
        buf_fini(&w.frames[i]);
    free(w.frames);
    buf_fini(&w.out);
    arena_fini(&w.mem);
    segtab_free(w.t);
}

int main(int argc, char **argv)
{
    const char *what = argc == 3 ? argv[1] : "";
    uint32_t n = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;

    if (n < TRACE_BATCH || n % TRACE_BATCH != 0 || n > WAITING / 2) {
        fprintf(stderr, "usage: trace rank|join|leave|poll|seen|replica|router|browser|known|"
                        "known-browser|router-join|router-entry|task-put|task-life N\n"
                        "N: a multiple of 64, at most 65536\n");
        return 2;
    }
    log_set_level(LOG_ERROR);
    if (strcmp(what, "rank") == 0)
        trace_rank(n);
    else if (strcmp(what, "poll") == 0)
        trace_node(MSG_PLACE, n);
    else if (strcmp(what, "join") == 0)
        trace_node(MSG_APPEND, n);
    else if (strcmp(what, "leave") == 0)
        trace_node(MSG_DROP, n);
    else if (strcmp(what, "seen") == 0 || strcmp(what, "replica") == 0)
        trace_replica(what[0] == 'r', n);
    else if (strcmp(what, "task-put") == 0 || strcmp(what, "task-life") == 0)
        trace_tasks(what[5] == 'l', n);
    else if (strcmp(what, "router") == 0)
        trace_router(TRACE_POLL, n);
    else if (strcmp(what, "browser") == 0)
        trace_router(TRACE_POLL_BROWSER, n);
    else if (strcmp(what, "known") == 0)
        trace_router(TRACE_KNOWN, n);
    else if (strcmp(what, "known-browser") == 0)
        trace_router(TRACE_KNOWN_BROWSER, n);
    else if (strcmp(what, "router-join") == 0)
        trace_router(TRACE_JOIN, n);
    else if (strcmp(what, "router-entry") == 0)
        trace_router(TRACE_ENTRY, n);
    else if (strcmp(what, "router-put") == 0)
        trace_router(TRACE_PUT, n);
    else
        return 2;
    return 0;
}
