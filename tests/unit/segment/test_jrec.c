/* test_jrec.c: what is written down is enough: random operations on two nodes, and at
 * random moments all records are replayed into a new table, which must be the same one;
 * then it takes the old one's place, as after a crash. Snapshots are taken in between. */
#include "common/base/rng.h"
#include "segment/core/location.h"
#include "tests/lib/segtape.h"

#define BOUND "\x02\x07" "1GET /a" /* ticket/pass.h */

/* ---- one record ---------------------------------------------------------------------- */

static void same(const struct jrec *r)
{
    struct buf a, b;
    struct jrec got;

    buf_init(&a);
    buf_init(&b);
    jrec_encode(r, &a);
    cr_assert_eq(jrec_decode(r->kind, a.data, a.len, &got), (int64_t)a.len);
    jrec_encode(&got, &b);
    cr_assert_eq(a.len, b.len);
    cr_assert_arr_eq(a.data, b.data, a.len);
    for (size_t n = 0; n < a.len; n++)
        cr_assert_lt(jrec_decode(r->kind, a.data, n, &got), 0, "cut at %zu", n);
    buf_fini(&a);
    buf_fini(&b);
}

Test(jrec, every_kind_survives_and_none_when_cut_short)
{
    uint64_t words[2] = { 3, ~0ull };
    struct jrec r = { .kind = JREC_POP, .seg = UINT64_MAX };

    r.pop = (struct jrec_pop) { 1ull << 40, 7, 3, 4, 1700000000000 };
    same(&r);
    r = (struct jrec) { .kind = JREC_RULES };
    r.rules = (struct jrec_rules) { .queue = 7,
                                    .n_lanes = 2,
                                    .name = { "login", 5 },
                                    .issuer = { "", 0 },
                                    .lanes = { { "default", 7 }, { "vip", 3 } } };
    same(&r);
    r = (struct jrec) { .kind = JREC_SUBJECT, .seg = 9 };
    r.subject = (struct jrec_subject) { { 5, 6 }, 7, 2, 1ull << 63, { "ann", 3 } };
    same(&r);
    r = (struct jrec) { .kind = JREC_RELOC, .seg = 9 };
    r.reloc = (struct jrec_reloc) { 4, 5, 128, 0, 2, words };
    same(&r);
    r = (struct jrec) { .kind = JREC_BLOCK, .seg = 9 };
    r.block.index = 300;
    r.block.alive[3] = 5;
    memset(r.block.why[0], 0xff, sizeof(r.block.why[0]));
    same(&r);
#define X(NAME, number, word, member) same(&(struct jrec) { .kind = number, .seg = 300 });
    JREC_KINDS(X)
#undef X
    cr_assert_eq(jrec_decode(36, (const uint8_t *)"", 0, &r), SQ_EUNKNOWN);
    cr_assert_eq(jrec_decode(JREC_NKINDS, (const uint8_t *)"", 0, &r), SQ_EUNKNOWN);
}

Test(jrec, a_batch_of_joins_is_a_few_bytes)
{
    struct tape tp = { 0 };
    void *ctx[] = { &tp };
    struct rig *r = rig_new_logged(1, 1u << 21, on_log, ctx);
    static struct append_req q[1024];
    static struct append_ans a[1024];
    size_t before;

    rig_open(r, 0, 1, OPEN_TAIL, 2000000, 0);
    before = tp.log.len;
    for (unsigned i = 0; i < ARRAY_LEN(q); i++)
        q[i].seg = 1;
    for (unsigned i = 0; i < 1000; i++)
        segtab_append(r->t[0], r->now, q, ARRAY_LEN(q), a, &r->mem);
    cr_assert_leq(tp.log.len - before, 9 * 1000);
    rig_free(r);
    tape_fini(&tp);
}

/* ---- random operations ----------------------------------------------------------------- */

#define SEGS 60

struct fuzz {
    struct rig *r;
    struct tape tape[2];
    struct rng rng;
    uint64_t tick, move;
    seg_id next;
    int at[SEGS + 1];        /* node of a segment */
    uint32_t joined[SEGS + 1];
    seg_id from, to;         /* of the move under way; 0: none */
    uint32_t crashes, snaps, commits, extended;
};

static uint32_t below(struct fuzz *f, uint32_t n)
{
    return (uint32_t)rng_below(&f->rng, n);
}

static seg_id any_seg(struct fuzz *f)
{
    return f->next > 1 ? 1 + below(f, (uint32_t)f->next - 1) : 1;
}

static void op_open(struct fuzz *f)
{
    seg_id id = f->next;

    if (id >= SEGS)
        return;
    f->at[id] = (int)below(f, 2);
    rig_open(f->r, f->at[id], id, OPEN_TAIL, 1 + below(f, 3000), below(f, 5000));
    f->next++;
}

static void op_join(struct fuzz *f)
{
    static struct append_req q[700];
    static struct append_ans a[700];
    static char name[700][24];
    seg_id id = any_seg(f);
    uint32_t n = 1 + below(f, ARRAY_LEN(q));
    bool named = below(f, 4) == 0;

    memset(q, 0, sizeof(q));
    n = named ? n % 20 + 1 : n;
    for (uint32_t i = 0; i < n; i++) {
        q[i].seg = id;
        q[i].client = (uint8_t)below(f, 3);
        if (!named || below(f, 3) == 0)
            continue;
        q[i].subject = name[i];
        q[i].subject_hash = below(f, 200);
        q[i].subject_len =
            (uint8_t)snprintf(name[i], sizeof(name[i]), "%su%u", below(f, 3) == 0 ? BOUND : "",
                              (unsigned)q[i].subject_hash);
    }
    segtab_append(f->r->t[f->at[id]], f->r->now, q, n, a, &f->r->mem);
    for (uint32_t i = 0; i < n; i++)
        f->joined[id] += a[i].state == APPEND_OK;
}

/* On either node: it may have moved. */
static void op_poll(struct fuzz *f)
{
    seg_id id = any_seg(f);

    for (unsigned i = 0; i < 30; i++)
        (void)rig_poll(f->r, (int)below(f, 2), id, below(f, f->joined[id] + 2));
    arena_reset(&f->r->mem);
}

static void op_leave(struct fuzz *f)
{
    seg_id id = any_seg(f);

    for (unsigned i = 1 + below(f, 20); i > 0; i--)
        (void)rig_leave(f->r, (int)below(f, 2), id, below(f, f->joined[id] + 2));
}

/* Of those in front: they are the released ones. */
static void op_session(struct fuzz *f)
{
    seg_id id = any_seg(f);

    for (unsigned i = 1 + below(f, 20); i > 0; i--) {
        struct sess_req q = { .seg = id,
                              .number = below(f, f->joined[id] / 4 + 2),
                              .command = (uint8_t)below(f, SESS_NCOMMANDS + 2),
                              .until_s = f->r->now.wall_ms / 1000 + below(f, 60) };
        struct sess_ans a;
        int node = (int)below(f, 2);

        if (q.command >= SESS_NCOMMANDS)
            q.command = SESS_EXTEND;
        q.renews = q.command == SESS_EXTEND && q.number % 2 == 0;
        if (q.command == SESS_EXTEND)
            (void)rig_poll(f->r, node, id, q.number);
        segtab_session(f->r->t[node], f->r->now, &q, 1, &a, &f->r->mem);
        f->extended += a.state == SESS_OK && q.command == SESS_EXTEND;
    }
    arena_reset(&f->r->mem);
}

static void op_pop(struct fuzz *f)
{
    seg_id id = any_seg(f);

    (void)rig_pop(f->r, f->at[id], id, f->tick++, below(f, 800));
}

static void op_seal(struct fuzz *f)
{
    seg_id id = any_seg(f);

    rig_seal(f->r, f->at[id], id, below(f, 2) ? id + 1 : 0);
}

static void op_next(struct fuzz *f)
{
    seg_id id = any_seg(f);

    rig_order(f->r, f->at[id],
              (struct msg) { .type = MSG_SEG_NEXT,
                             .seg_next = { f->r->epoch, id, below(f, SEGS) } });
}

static void op_ahead(struct fuzz *f)
{
    struct ahead_entry e = { any_seg(f), below(f, 5000) };
    struct msg m = { .type = MSG_SEG_AHEAD,
                     .seg_ahead = { .epoch = f->r->epoch, .n = 1, .v = &e } };

    rig_order(f->r, f->at[e.seg], m);
}

static void op_remove(struct fuzz *f)
{
    seg_id id = any_seg(f);

    rig_order(f->r, f->at[id],
              (struct msg) { .type = MSG_SEG_REMOVE,
                             .seg_remove = { f->r->epoch, id, below(f, 10) == 0 } });
}

static void op_rules(struct fuzz *f)
{
    struct msg_rules m = rig_rules(f->r);

    m.idle_ms[0] = 2000 + below(f, 60000);
    m.grace_ms = below(f, 2) * 3000;
    m.name = below(f, 2) ? "login" : "other";
    for (int i = 0; i < 2; i++)
        rig_order(f->r, i, (struct msg) { .type = MSG_RULES, .rules = m });
}

static void op_time(struct fuzz *f)
{
    rig_run(f->r, 100 * (1 + below(f, 40)));
}

static void op_epoch(struct fuzz *f)
{
    f->r->epoch++;
    for (int i = 0; i < 2; i++)
        rig_order(f->r, i,
                  (struct msg) { .type = MSG_NODE_OK, .node_ok = { f->r->epoch, 1, 77 } });
}

/* Now and then only some of its messages have arrived when the next thing happens. */
static void op_move(struct fuzz *f)
{
    seg_id from = any_seg(f), to = any_seg(f);
    struct msg in = { .type = MSG_MOVE_IN,
                      .move_in = { f->r->epoch, ++f->move, from, to, 10 } };
    struct msg out = { .type = MSG_MOVE_OUT, .move_out = { .epoch = f->r->epoch } };

    if (f->from != 0 || from == to)
        return;
    out.move_out.move = f->move;
    out.move_out.from = from;
    out.move_out.to = to;
    out.move_out.peer_name = f->at[to] == 0 ? "node0" : "node1";
    out.move_out.peer_addr = "x";
    rig_seal(f->r, f->at[from], from, 0);
    rig_seal(f->r, f->at[to], to, 0);
    rig_order(f->r, f->at[to], in);
    rig_order_as(f->r, f->at[from], RIG_MNG, out);
    rig_pump(f->r, below(f, 3) == 0 ? below(f, 30) : UINT32_MAX);
    f->from = from;
    f->to = to;
}

static void op_move_end(struct fuzz *f)
{
    struct msg m = { .type = MSG_MOVE_END };
    bool commit = f->r->in_report == MOVE_FENCED && below(f, 4) > 0;

    if (f->from == 0)
        return;
    m.move_end = (struct msg_move_end) { .epoch = f->r->epoch,
                                         .move = f->move,
                                         .from = f->from,
                                         .to = f->to,
                                         .commit = commit };
    f->r->in_report = 0;
    rig_order(f->r, f->at[f->to], m);
    if (!commit || f->r->in_report == MOVE_COMMITTED) {
        if (f->at[f->to] != f->at[f->from])
            rig_order(f->r, f->at[f->from], m);
        f->commits += commit;
    }
    f->from = 0;
}

static void op_snap(struct fuzz *f)
{
    int i = (int)below(f, 2);

    tape_snap(&f->tape[i], f->r->t[i], 1 + below(f, 10));
    f->snaps += !f->tape[i].snapping;
}

/* A new process with what was written down; its peers come again. */
static void op_crash(struct fuzz *f)
{
    int i = (int)below(f, 2);
    struct segtab *t = replay(&f->tape[i]);

    cr_assert_eq(segtab_digest(t), segtab_digest(f->r->t[i]), "node %d", i);
    f->tape[i].snapping = false; /* one under way is lost */
    rig_cut(f->r);
    rig_pump(f->r, UINT32_MAX);
    segtab_free(f->r->t[i]);
    segtab_free(t);
    f->r->t[i] = replay(&f->tape[i]); /* what the cut has changed is in it */
    cr_assert_eq(segtab_replayed(f->r->t[i], f->r->now), 0);
    rig_start(f->r, i);
    rig_link(f->r);
    f->crashes++;
}

static void check(struct fuzz *f)
{
    for (int i = 0; i < 2; i++) {
        struct segtab *t = replay(&f->tape[i]);

        cr_assert_eq(segtab_digest(t), segtab_digest(f->r->t[i]), "node %d", i);
        segtab_free(t);
    }
}

static void run(uint64_t seed, unsigned ops, struct fuzz *f)
{
    static void (*const op[])(struct fuzz *) = {
        op_join, op_join, op_poll, op_poll,  op_leave, op_pop,  op_pop,   op_seal,   op_poll,
        op_next, op_ahead, op_remove, op_rules, op_time, op_time, op_epoch, op_move,
        op_move, op_move_end, op_move_end, op_open, op_snap, op_snap, op_crash,
        op_session, op_session,
    };
    void *ctx[] = { &f->tape[0], &f->tape[1] };

    memset(f, 0, sizeof(*f));
    rng_seed(&f->rng, seed);
    f->r = rig_new_logged(2, 1u << 20, on_log, ctx);
    rig_link(f->r);
    f->next = f->tick = 1;
    op_open(f);
    op_open(f);
    for (unsigned i = 0; i < ops; i++) {
        op[below(f, ARRAY_LEN(op))](f);
        if (below(f, 8) == 0)
            check(f);
    }
    check(f);
    rig_free(f->r);
    for (int i = 0; i < 2; i++)
        tape_fini(&f->tape[i]);
}

Test(jrec, a_replay_gives_the_same_table, .timeout = 120)
{
    uint32_t crashes = 0, snaps = 0, commits = 0, extended = 0;
    static struct fuzz f;

    for (uint64_t seed = 1; seed <= 60; seed++) {
        run(seed, 300, &f);
        crashes += f.crashes;
        snaps += f.snaps;
        commits += f.commits;
        extended += f.extended;
    }
    cr_assert_gt(extended, 30);
    cr_assert_gt(crashes, 300);
    cr_assert_gt(snaps, 300);
    cr_assert_gt(commits, 20);
}

/* ---- a snapshot that takes its time ---------------------------------------------------- */

static void move(struct fuzz *f, seg_id from, seg_id to)
{
    f->r->in_report = 0;
    f->move++;
    rig_seal(f->r, f->at[from], from, 0);
    rig_seal(f->r, f->at[to], to, 0);
    rig_order(f->r, f->at[to], (struct msg) { .type = MSG_MOVE_IN,
                                              .move_in = { f->r->epoch, f->move, from, to, 10 } });
    rig_order_as(f->r, f->at[from], RIG_MNG,
                 (struct msg) { .type = MSG_MOVE_OUT,
                                .move_out = { f->r->epoch, f->move, from, to,
                                              f->at[to] == 0 ? "node0" : "node1", "x" } });
    rig_pump(f->r, UINT32_MAX);
    cr_assert_eq(f->r->in_report, MOVE_FENCED);
    for (int i = 0; i < 2; i++)
        rig_order(f->r, i, (struct msg) { .type = MSG_MOVE_END,
                                          .move_end = { f->r->epoch, f->move, from, to, true } });
}

/* Segment 1 moves away, comes back within 3, and that is removed: before its turn in the
 * snapshot, or behind it. Nothing that was said of segment 1 before may come back. */
static void away_and_back(bool begins_behind, bool has_turn)
{
    struct fuzz f = { .at = { [2] = 1 } };
    void *ctx[] = { &f.tape[0], &f.tape[1] };
    struct location s;

    f.r = rig_new_logged(2, 1u << 20, on_log, ctx);
    rig_link(f.r);
    for (seg_id id = 1; id <= 4; id++)
        rig_open(f.r, f.at[id], id, OPEN_TAIL, 100, 0);
    rig_join(f.r, 0, 1, 5);
    if (!begins_behind)
        tape_snap(&f.tape[0], f.r->t[0], 0);
    move(&f, 1, 2);
    cr_assert_eq(segtab_find(f.r->t[0], 1, 0, &s), FOUND_MOVED);
    if (begins_behind)
        tape_snap(&f.tape[0], f.r->t[0], 0);
    move(&f, 2, 3);
    cr_assert_eq(segtab_find(f.r->t[0], 1, 0, &s), FOUND_HERE);
    if (has_turn)
        tape_snap(&f.tape[0], f.r->t[0], 1);
    rig_order(f.r, 0, (struct msg) { .type = MSG_SEG_REMOVE,
                                     .seg_remove = { f.r->epoch, 3, true } });
    cr_assert_eq(segtab_find(f.r->t[0], 1, 0, &s), FOUND_NOWHERE);
    cr_assert(f.tape[0].snapping);
    tape_snap(&f.tape[0], f.r->t[0], UINT64_MAX);
    cr_assert_not(f.tape[0].snapping);
    check(&f);
    rig_free(f.r);
    for (int i = 0; i < 2; i++)
        tape_fini(&f.tape[i]);
}

Test(jrec, what_came_back_and_is_removed_amid_a_snapshot_is_not_away_again)
{
    for (unsigned i = 0; i < 4; i++)
        away_and_back(i & 1, i & 2);
}

/* Each has a row until the manager has stored that: more than a status holds, and than a replay believes. */
Test(jrec, of_thousands_who_came_back_one_order_releases_no_more_than_is_read_again)
{
    struct tape tp = { 0 };
    void *ctx[] = { &tp };
    struct rig *r = rig_new_logged(1, 1u << 20, on_log, ctx);
    const uint32_t n = 3000;
    struct segtab *t;

    rig_open(r, 0, 1, OPEN_TAIL, 10000, 0);
    rig_join(r, 0, 1, n);
    cr_assert_eq(rig_pop(r, 0, 1, 1, n), n);
    rig_run(r, 2500);
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(rig_poll(r, 0, 1, i).state, PLACE_WAITING);
    for (uint64_t tick = 2; tick < 10; tick++) /* none of it is stored */
        rig_order(r, 0, (struct msg) { .type = MSG_SEG_POP,
                                       .seg_pop = { r->epoch, 1, tick, n, r->now.wall_ms, 0 } });
    tape_snap(&tp, r->t[0], UINT64_MAX);
    t = replay(&tp);
    cr_expect_eq(segtab_digest(t), segtab_digest(r->t[0]));
    segtab_free(t);
    rig_free(r);
    tape_fini(&tp);
}
