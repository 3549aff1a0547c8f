/* test_xfer_crowd.c: a copy that is long enough for the crowd to change what has been sent
 * already; a copy that is not what its end says; and a commit that comes too early, or for
 * a copy that is not there any more. */
#include "segment/copy/xfer_in.h"
#include "segment/copy/xfer_out.h"
#include "tests/lib/segrig.h"

#define N    200000u /* more blocks than the window holds */
#define MOVE 9

static struct rig *r;

static void join_many(seg_id seg, uint32_t n)
{
    static struct append_req q[1000];
    static struct append_ans a[1000];

    for (unsigned i = 0; i < ARRAY_LEN(q); i++)
        q[i] = (struct append_req) { .seg = seg };
    for (uint32_t i = 0; i < n; i += ARRAY_LEN(q))
        segtab_append(r->t[1], r->now, q, ARRAY_LEN(q), a, &r->mem);
    cr_assert_eq(a[ARRAY_LEN(a) - 1].state, APPEND_OK);
}

static struct msg end_msg(bool commit)
{
    return (struct msg) { .type = MSG_MOVE_END,
                          .move_end = { r->epoch, MOVE, 2, 1, commit } };
}

static void order_move(void)
{
    rig_order(r, 0, (struct msg) { .type = MSG_MOVE_IN, .move_in = { 1, MOVE, 2, 1, 0 } });
    rig_order_as(r, 1, RIG_MNG,
                 (struct msg) { .type = MSG_MOVE_OUT,
                                .move_out = { 1, MOVE, 2, 1, "node0", "127.0.0.1:1" } });
}

/* Segment 1 on node 0, sealed and empty; the crowd in segment 2 on node 1. */
static void begin(uint32_t crowd)
{
    r = rig_new(2, 1u << 20);
    rig_open(r, 0, 1, OPEN_TARGET, N, 0);
    rig_open(r, 1, 2, OPEN_TAIL, N, 0);
    join_many(2, crowd);
    rig_seal(r, 1, 2, 0);
    rig_link(r);
    order_move();
}

/* Until the first blocks are sent and more are to come. */
static void until_copying(void)
{
    while (r->copies < 4) {
        cr_assert_neq(r->head, r->tail);
        rig_pump(r, 1);
    }
    cr_assert_eq(rig_poll(r, 1, 2, 1).state, PLACE_WAITING, "not fenced yet");
}

static void finish(void)
{
    for (unsigned i = 0; i < 100 && r->in_report != MOVE_FENCED; i++)
        rig_run(r, 100);
    cr_assert_eq(r->in_report, MOVE_FENCED, "%s", r->why);
    rig_order(r, 0, end_msg(true));
    rig_order(r, 1, end_msg(true));
    cr_assert_eq(r->in_report, MOVE_COMMITTED);
    cr_assert_eq(r->out_report, MOVE_COMMITTED);
}

Test(xfer_crowd, a_leave_after_the_copy_is_applied)
{
    begin(N);
    until_copying();
    for (uint32_t i = 0; i < 3000; i += 2)
        cr_assert_eq(rig_leave(r, 1, 2, i).state, DROP_OK);
    finish();
    cr_assert_eq(r->in_tickets, N - 1500);
    rig_run(r, 100);
    for (uint32_t i = 0; i < 3000; i++)
        cr_assert_eq(rig_poll(r, 0, 2, i).state, i % 2 == 0 ? PLACE_GONE : PLACE_WAITING,
                     "number %u", i);
    cr_assert_eq(rig_poll(r, 0, 2, 1).position, 1);
    cr_assert_eq(rig_poll(r, 0, 2, 2999).position, 1500);
    rig_free(r);
}

/* Game: 8 s were theirs (rig_rules), and a moved ticket has 5 s at least: in between only
 * those are left who were seen during the copy, or late before it. */
Test(xfer_crowd, last_seen_times_are_copied)
{
    struct place_req q = { .seg = 2, .client = CLIENT_BROWSER };
    struct place_ans a;
    struct segtab_counts c;

    begin(N);
    until_copying();
    for (q.number = 0; q.number < 2000; q.number++) {
        segtab_place(r->t[1], r->now, &q, 1, &a, &r->mem);
        cr_assert_eq(a.state, PLACE_WAITING);
    }
    finish();
    segtab_count(r->t[0], &c);
    cr_assert_eq(c.waiting, N);
    rig_run(r, 7600);
    segtab_count(r->t[0], &c);
    cr_assert_eq(c.waiting, 2000, "%lu wait", c.waiting);
    rig_run(r, 6000);
    segtab_count(r->t[0], &c);
    cr_assert_eq(c.waiting, 0);
    rig_free(r);
}

Test(xfer_crowd, commit_of_half_a_copy_is_an_abort)
{
    struct segtab_counts c;

    begin(N);
    until_copying();
    rig_order(r, 0, end_msg(true));
    cr_assert_eq(r->in_report, MOVE_ABORTED);
    segtab_count(r->t[0], &c);
    cr_assert_eq(c.waiting, 0);
    cr_assert_eq(rig_poll(r, 0, 2, 5).state, PLACE_UNKNOWN);
    rig_order(r, 1, end_msg(false));
    cr_assert_eq(rig_poll(r, 1, 2, 5).state, PLACE_WAITING, "the source has them all");
    rig_free(r);
}

/* The target's node was restarted before the commit, and its copy is gone. */
Test(xfer_crowd, commit_of_a_lost_copy_aborts)
{
    begin(1000);
    rig_pump(r, UINT32_MAX);
    cr_assert_eq(r->in_report, MOVE_FENCED);
    segtab_free(r->t[0]);
    r->t[0] = segtab_new(&(struct segtab_opts) { .max_tickets = 1u << 20,
                                                 .max_segments = 100,
                                                 .addr = "127.0.0.1:1",
                                                 .admin = "",
                                                 .make_pass = rig_pass });
    rig_start(r, 0);
    rig_open(r, 0, 1, OPEN_TARGET, N, 0);
    rig_order(r, 0, end_msg(true));
    cr_assert_eq(r->in_report, MOVE_ABORTED);
    rig_order(r, 1, end_msg(false));
    cr_assert_eq(rig_poll(r, 1, 2, 999).state, PLACE_WAITING);
    rig_free(r);
}

/* ---- the target alone --------------------------------------------------------------- */

struct target {
    struct block_pool pool;
    struct contents b;
    struct xfer_in x;
    struct copy_block block;
    uint8_t left[3];
};

/* Three tickets, announced and sent. */
static void target_init(struct target *t)
{
    struct msg begin = { .type = MSG_COPY_BEGIN };
    struct msg chunk = { .type = MSG_COPY_CHUNK };

    block_pool_init(&t->pool, 100);
    contents_init(&t->b, 1, &t->pool);
    segq_seal(&t->b.q);
    xfer_in_init(&t->x, MOVE, 2, 1, &t->pool);
    begin.copy_begin.move = MOVE;
    begin.copy_begin.from = 2;
    begin.copy_begin.to = 1;
    begin.copy_begin.end = begin.copy_begin.joined = 3;
    begin.copy_begin.unit_ms = 500;
    cr_assert_null(xfer_in_msg(&t->x, &begin, &t->b));
    memset(t->left, 20, sizeof(t->left));
    t->block = (struct copy_block) { .index = 0, .alive = { 7 }, .n_left = 3,
                                     .left = t->left };
    chunk.copy_chunk = (struct msg_copy_chunk) { MOVE, 1, 1, &t->block };
    cr_assert_null(xfer_in_msg(&t->x, &chunk, &t->b));
}

static void target_fini(struct target *t)
{
    xfer_in_fini(&t->x);
    contents_fini(&t->b);
    block_pool_fini(&t->pool);
}

static const char *target_end(struct target *t, uint32_t seq, uint32_t waiting)
{
    struct msg m = { .type = MSG_COPY_END };

    m.copy_end.move = MOVE;
    m.copy_end.seq = seq;
    m.copy_end.waiting = waiting;
    return xfer_in_msg(&t->x, &m, &t->b);
}

Test(xfer_crowd, a_gap_or_a_repetition_is_refused)
{
    static const uint32_t seqs[] = { 0, 1, 3, 100 };
    struct target t;

    for (size_t i = 0; i < ARRAY_LEN(seqs); i++) {
        target_init(&t);
        cr_assert_not_null(target_end(&t, seqs[i], 3), "seq %u", seqs[i]);
        cr_assert_not(t.x.complete);
        target_fini(&t);
    }
    target_init(&t);
    cr_assert_null(target_end(&t, 2, 3));
    cr_assert(t.x.complete);
    target_fini(&t);
}

Test(xfer_crowd, another_count_than_the_source_has_is_refused)
{
    static const uint32_t counts[] = { 0, 2, 4 };
    struct target t;

    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        target_init(&t);
        cr_assert_not_null(target_end(&t, 2, counts[i]), "%u", counts[i]);
        cr_assert_not(t.x.complete);
        target_fini(&t);
    }
}
