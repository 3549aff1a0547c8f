/* test_rebuild.c: a segment that lost everything, ticket by ticket; what may be told before
 * it is stored; and the same after a restart with the journal. */
#include "tests/lib/segrig.h"

#include "segment/core/jrec.h"

#define CAP 1000

static struct rig *r;
static struct buf tape;
static uint64_t tick;

static void on_log(void *ctx, const struct jrec *x)
{
    struct buf *b = ctx;

    buf_byte(b, x->kind);
    jrec_encode(x, b);
}

static void setup(void)
{
    void *ctx[1] = { &tape };

    buf_init(&tape);
    tick = 0;
    r = rig_new_logged(1, 1u << 20, on_log, ctx);
}

static void teardown(void)
{
    rig_free(r);
    buf_fini(&tape);
}

TestSuite(rebuild, .init = setup, .fini = teardown);

static void reopen(seg_id seg, uint32_t mark_end, const struct mark_row *v, uint32_t n)
{
    rig_order(r, 0, (struct msg) { .type = MSG_RULES, .rules = rig_rules(r) });
    rig_order(r, 0,
              (struct msg) { .type = MSG_SEG_OPEN,
                             .seg_open = { .epoch = r->epoch, .seg = seg, .queue = 7,
                                           .kind = OPEN_REBUILD, .capacity = CAP,
                                           .ahead = AHEAD_UNKNOWN, .for_ms = 5000,
                                           .mark_end = mark_end, .n_marks = n,
                                           .marks = v } });
}

static void ahead(seg_id seg, uint64_t n, uint64_t kept)
{
    struct ahead_entry a = { seg, n };
    struct kept_entry k = { seg, kept };
    struct msg m = { .type = MSG_SEG_AHEAD };

    m.seg_ahead.epoch = r->epoch;
    m.seg_ahead.n = n != AHEAD_UNKNOWN;
    m.seg_ahead.v = &a;
    m.seg_ahead.n_kept = kept != 0;
    m.seg_ahead.kept = &k;
    rig_order(r, 0, m);
}

static uint32_t pop_keeping(seg_id seg, uint32_t n)
{
    rig_order(r, 0,
              (struct msg) { .type = MSG_SEG_POP,
                             .seg_pop = { .epoch = r->epoch, .seg = seg, .tick = ++tick,
                                          .n = n, .released_at_ms = r->now.wall_ms } });
    return r->popped.n;
}

static void expect_position(uint32_t number, uint64_t position)
{
    struct place_ans a = rig_poll(r, 0, 1, number);

    cr_assert_eq(a.state, PLACE_WAITING, "%u is in state %u", number, a.state);
    cr_assert_eq(a.position, position, "%u is at %lu", number, a.position);
}

/* The node again, from the first `len` bytes of what it has written down; digest 0: any. */
static void restart_from(size_t len, uint64_t digest)
{
    struct segtab_opts o = rig_opts(1u << 20);
    struct segtab *t;

    o.log = on_log;
    o.log_ctx = &tape;
    t = segtab_new(&o);
    tape.len = len;
    for (size_t at = 0; at < len;) {
        struct jrec x;
        int64_t n = jrec_decode(tape.data[at], tape.data + at + 1, len - at - 1, &x);

        cr_assert_gt(n, 0);
        cr_assert_eq(segtab_replay(t, &x), 0, "%s", jrec_name(x.kind));
        at += 1 + (size_t)n;
    }
    if (digest != 0)
        cr_assert_eq(segtab_digest(t), digest, "it is not what it has written down");
    cr_assert_eq(segtab_replayed(t, r->now), 0);
    segtab_free(r->t[0]);
    r->t[0] = t;
    rig_start(r, 0);
}

static void restart(void)
{
    restart_from(tape.len, segtab_digest(r->t[0]));
}

/* ---- what may be told ------------------------------------------------------------- */

Test(rebuild, a_release_is_told_after_it_is_stored)
{
    rig_open(r, 0, 1, OPEN_TAIL, CAP, 0);
    rig_join(r, 0, 1, 10);
    cr_assert_eq(pop_keeping(1, 3), 3);
    cr_assert_eq(r->popped.status.n_marks, 1);
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_BUSY);
    expect_position(3, 4); /* it may yet be undone */
    ahead(1, AHEAD_UNKNOWN, 77);
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_BUSY, "that was another release");
    rig_down(r, 0, RIG_MNG);
    expect_position(2, 0);
    rig_start(r, 0);
    ahead(1, AHEAD_UNKNOWN, tick);
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_ADMITTED);
    cr_assert_eq(rig_poll(r, 0, 1, 2).state, PLACE_ADMITTED);
    expect_position(3, 1);
}

Test(rebuild, unstored_reports_are_repeated_after_a_restart)
{
    rig_open(r, 0, 1, OPEN_TAIL, CAP, 0);
    rig_join(r, 0, 1, 10);
    pop_keeping(1, 3);
    restart();
    cr_assert_eq(r->status[1].n_marks, 1, "in the first report");
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_BUSY);
    expect_position(3, 4);
    ahead(1, AHEAD_UNKNOWN, tick);
    restart();
    expect_position(3, 1);
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_ADMITTED);
}

/* A manager that is away, or slow, makes nobody a no-show. */
Test(rebuild, the_claim_window_begins_when_stored)
{
    rig_open(r, 0, 1, OPEN_TAIL, CAP, 0);
    rig_join(r, 0, 1, 1);
    pop_keeping(1, 1);
    rig_run(r, 5000); /* it is 2 s long */
    cr_assert_eq(r->status[1].no_shows, 0);
    ahead(1, AHEAD_UNKNOWN, tick);
    rig_run(r, 1800);
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_ADMITTED);
    rig_join(r, 0, 1, 1);
    pop_keeping(1, 1);
    ahead(1, AHEAD_UNKNOWN, tick);
    rig_run(r, 2500);
    cr_assert_eq(r->status[1].no_shows, 1);
}

/* ---- a segment that lost everything ------------------------------------------------ */

Test(rebuild, passes_are_the_same_byte_for_byte)
{
    char before[3][200];
    struct mark_row row = { 1, 0, 3, false, r->now.wall_ms };
    struct place_ans a;

    rig_open(r, 0, 1, OPEN_TAIL, CAP, 0);
    rig_join(r, 0, 1, 10);
    rig_pop(r, 0, 1, ++tick, 3);
    for (uint32_t i = 0; i < 3; i++) {
        a = rig_poll(r, 0, 1, i);
        snprintf(before[i], sizeof(before[i]), "%.*s", a.pass_len, a.pass);
    }
    rig_order(r, 0, (struct msg) { .type = MSG_SEG_REMOVE, .seg_remove = { r->epoch, 1, true } });
    rig_run(r, 3000);
    reopen(1, 3, &row, 1);
    for (uint32_t i = 0; i < 3; i++) {
        a = rig_poll(r, 0, 1, i);
        cr_assert_eq(a.state, PLACE_ADMITTED);
        cr_assert(a.pass_len == strlen(before[i]) &&
                  memcmp(a.pass, before[i], a.pass_len) == 0);
    }
    expect_position(3, 0);
    rig_run(r, 7000); /* their life of ten seconds is over */
    cr_assert_eq(rig_poll(r, 0, 1, 0).reason, GONE_FINISHED);
}

Test(rebuild, the_last_release_of_a_no_show_counts)
{
    struct mark_row row[] = { { 1, 0, 5, false, r->now.wall_ms - 8000 },
                              { 1, 2, 3, true, r->now.wall_ms - 1000 },
                              { 1, 5, 6, false, r->now.wall_ms - 20000 } };

    reopen(1, 6, row, 3);
    cr_assert_eq(rig_poll(r, 0, 1, 1).released_at_ms, row[0].at_ms);
    cr_assert_eq(rig_poll(r, 0, 1, 2).released_at_ms, row[1].at_ms);
    cr_assert_eq(rig_poll(r, 0, 1, 5).reason, GONE_FINISHED, "too long ago");
}

Test(rebuild, order_is_exact_and_positions_come_at_the_end)
{
    reopen(1, 100, NULL, 0);
    expect_position(102, 0);
    cr_assert_eq(pop_keeping(1, 5), 0, "100 and 101 may come yet");
    cr_assert(r->popped.busy);
    expect_position(101, 0);
    expect_position(105, 0);
    cr_assert_eq(pop_keeping(1, 5), 0);
    expect_position(100, 0);
    cr_assert_eq(pop_keeping(1, 2), 2);
    ahead(1, 7, tick);
    cr_assert_eq(rig_poll(r, 0, 1, 100).state, PLACE_ADMITTED);
    cr_assert_eq(rig_poll(r, 0, 1, 101).state, PLACE_ADMITTED);
    expect_position(102, 0);
    cr_assert_eq(pop_keeping(1, 5), 1, "103 and 104 are not there");
    ahead(1, AHEAD_UNKNOWN, tick);
    for (int i = 0; i < 6; i++) {
        rig_run(r, 1000);
        rig_poll(r, 0, 1, 105);
    }
    cr_assert_not(r->status[1].rebuild);
    expect_position(105, 8);
    cr_assert_eq(rig_poll(r, 0, 1, 103).reason, GONE_EXPIRED);
    cr_assert_eq(rig_poll(r, 0, 1, 99).reason, GONE_FINISHED);
    cr_assert_eq(rig_poll(r, 0, 1, CAP).reason, GONE_LOST, "no such number was ever given");
    cr_assert_eq(pop_keeping(1, 5), 1);
}

Test(rebuild, a_left_ticket_does_not_return)
{
    reopen(1, 0, NULL, 0);
    cr_assert_eq(rig_leave(r, 0, 1, 4).state, DROP_OK);
    cr_assert_eq(rig_poll(r, 0, 1, 4).reason, GONE_LEFT, "a late poll");
    expect_position(5, 0);
    rig_leave(r, 0, 1, 5);
    cr_assert_eq(rig_poll(r, 0, 1, 5).reason, GONE_LEFT);
    for (uint32_t i = 0; i < 4; i++)
        rig_poll(r, 0, 1, i);
    rig_poll(r, 0, 1, 6);
    cr_assert_eq(pop_keeping(1, 100), 5, "the dead hold up nobody");
}

Test(rebuild, joins_are_sent_on_and_moves_refused)
{
    reopen(1, 0, NULL, 0);
    cr_assert_eq(rig_join_as(r, 0, 1, NULL).state, APPEND_SEALED);
    rig_open(r, 0, 2, OPEN_TARGET, CAP, 0);
    rig_order(r, 0,
              (struct msg) { .type = MSG_MOVE_OUT,
                             .move_out = { r->epoch, 9, 1, 2, "node0", "" } });
    cr_assert_eq(r->out_report, MOVE_ABORTED);
}

/* The commit of its move was never heard of, and the target is lost by now: who was released there
 * does not wait here again. */
Test(rebuild, what_is_left_of_a_move_makes_room)
{
    struct msg_move_end late = { r->epoch, 9, 1, 2, true };

    rig_open(r, 0, 1, OPEN_TAIL, CAP, 0);
    rig_join(r, 0, 1, 3);
    rig_seal(r, 0, 1, 3);
    rig_order(r, 0,
              (struct msg) { .type = MSG_MOVE_OUT,
                             .move_out = { r->epoch, 9, 1, 2, "node7", "" } });
    cr_assert_eq(r->out_report, MOVE_COPYING);
    reopen(1, 2, NULL, 0);
    cr_assert_eq(r->out_report, MOVE_ABORTED);
    cr_assert(r->status[1].rebuild && r->status[1].move == 0);
    cr_assert_eq(rig_poll(r, 0, 1, 1).state, PLACE_GONE);
    expect_position(2, 0);
    restart();
    rig_order(r, 0, (struct msg) { .type = MSG_MOVE_END, .move_end = late });
    expect_position(2, 0);
    reopen(1, 0, NULL, 0);
    expect_position(2, 0);
    cr_assert_eq(rig_poll(r, 0, 1, 1).state, PLACE_GONE, "the same order again");
}

Test(rebuild, a_restart_during_rebuild_forgets_nothing)
{
    struct mark_row row = { 1, 0, 3, false, r->now.wall_ms };

    reopen(1, 3, &row, 1);
    for (uint32_t i = 3; i < 600; i += 3)
        rig_poll(r, 0, 1, i);
    rig_leave(r, 0, 1, 4);
    rig_leave(r, 0, 1, 6);
    restart();
    cr_assert_eq(rig_poll(r, 0, 1, 1).state, PLACE_ADMITTED);
    cr_assert_eq(rig_poll(r, 0, 1, 4).reason, GONE_LEFT);
    cr_assert_eq(rig_poll(r, 0, 1, 6).reason, GONE_LEFT);
    expect_position(5, 0);
    cr_assert_eq(pop_keeping(1, 50), 2);
    ahead(1, 0, tick);
    restart();
    for (int i = 0; i < 6; i++) {
        rig_run(r, 1000);
        for (uint32_t k = 9; k < 600; k += 3)
            rig_poll(r, 0, 1, k);
    }
    restart();
    expect_position(9, 1);
    expect_position(597, 197);
}

/* Killed while the first of it is being written down: whoever was inside must not wait
 * again, and what has no end in the journal must not be in the way of the next order. */
static struct place_ans poll_of(struct segtab *t, uint32_t number)
{
    struct place_req q = { .seg = 1, .number = number };
    struct place_ans a;

    arena_reset(&r->mem);
    segtab_place(t, r->now, &q, 1, &a, &r->mem);
    return a;
}

static void cut_at(const struct buf *whole, size_t len)
{
    buf_reset(&tape);
    buf_append(&tape, whole->data, whole->len);
    restart_from(len, 0);
}

Test(rebuild, half_of_its_beginning_is_nothing)
{
    struct mark_row row[] = { { 1, 0, 3, false, r->now.wall_ms },
                              { 1, 3, 5, false, r->now.wall_ms } };
    size_t cut = tape.len;
    unsigned found = 0, cuts = 0;
    struct buf whole;

    reopen(1, 5, row, 2);
    buf_init(&whole);
    buf_append(&whole, tape.data, tape.len);
    for (bool more = true; more; cuts++) {
        struct place_ans a;
        struct jrec x;

        cut_at(&whole, cut);
        a = poll_of(r->t[0], 0);
        cr_assert_neq(a.state, PLACE_WAITING, "cut at %zu: admitted twice", cut);
        cr_assert_neq(a.state, PLACE_GONE, "cut at %zu: its pass is lost", cut);
        found += a.state == PLACE_ADMITTED && poll_of(r->t[0], 4).state == PLACE_ADMITTED;
        reopen(1, 5, row, 2); /* the order again */
        expect_position(5, 0);
        restart();
        cr_assert_eq(rig_poll(r, 0, 1, 4).state, PLACE_ADMITTED);
        more = cut < whole.len;
        if (more)
            cut += 1 + (size_t)jrec_decode(whole.data[cut], whole.data + cut + 1,
                                           whole.len - cut - 1, &x);
    }
    buf_fini(&whole);
    cr_assert_geq(cuts, 5);
    cr_assert_eq(found, 1, "only the whole of it counts");
}

/* Without a manager routers do not learn where it is now; while nothing can be written down
 * nobody can be put back: neither is anybody's silence. */
Test(rebuild, its_time_stands_still_without_a_manager)
{
    reopen(1, 0, NULL, 0);
    rig_run(r, 1000);
    rig_down(r, 0, RIG_MNG);
    rig_run(r, 20000);
    rig_start(r, 0);
    rig_run(r, 3000);
    cr_assert(r->status[1].rebuild);
    expect_position(7, 0);
    rig_run(r, 1500);
    cr_assert_not(r->status[1].rebuild);
    cr_assert_eq(rig_poll(r, 0, 1, 8).reason, GONE_EXPIRED);
    rig_poll(r, 0, 1, 7);
}

Test(rebuild, its_time_stands_still_while_nothing_can_be_written_down)
{
    reopen(1, 0, NULL, 0);
    segtab_hold(r->t[0], true);
    rig_run(r, 20000);
    cr_assert_eq(rig_poll(r, 0, 1, 7).state, PLACE_BUSY);
    segtab_hold(r->t[0], false);
    rig_run(r, 4000);
    expect_position(7, 0);
    rig_run(r, 1500);
    cr_assert_not(r->status[1].rebuild);
}

/* The clock had gone on since the last look at it. */
Test(rebuild, it_does_not_end_while_nothing_can_be_written_down)
{
    reopen(1, 0, NULL, 0);
    rig_run(r, 4900);
    rig_jump(r, 200);
    (void)rig_poll(r, 0, 1, 7);
    segtab_hold(r->t[0], true);
    rig_run(r, 1000);
    cr_expect(r->status[1].rebuild);
    segtab_hold(r->t[0], false);
    rig_run(r, 1000);
    cr_expect_not(r->status[1].rebuild);
}

/* Who is refused for lack of memory has more time, but not for ever. */
Test(rebuild, without_memory_the_rebuild_is_extended)
{
    rig_free(r);
    r = rig_new(1, BLOCK_SLOTS); /* one block */
    reopen(1, 0, NULL, 0);
    expect_position(5, 0);
    for (int i = 0; i < 100; i++) {
        rig_run(r, 100);
        cr_assert_eq(rig_poll(r, 0, 1, 700).state, PLACE_BUSY);
        rig_poll(r, 0, 1, 5);
    }
    cr_assert(r->status[1].rebuild);
    for (int i = 0; i < 400; i++) {
        rig_run(r, 100);
        rig_poll(r, 0, 1, 700);
    }
    cr_assert_not(r->status[1].rebuild);
}

/* A snapshot instead of all the changes gives the same. */
Test(rebuild, a_snapshot_of_a_segment_under_rebuild)
{
    struct buf snap;
    size_t from;

    reopen(1, 3, NULL, 0);
    rig_poll(r, 0, 1, 7);
    rig_poll(r, 0, 1, 900);
    rig_leave(r, 0, 1, 8);
    rig_open(r, 0, 2, OPEN_TAIL, CAP, 0);
    rig_join(r, 0, 2, 5);
    pop_keeping(2, 2);
    from = tape.len;
    buf_init(&snap);
    for (bool begin = true; segtab_snapshot(r->t[0], begin, 1, on_log, &snap); begin = false)
        ;
    buf_append(&snap, tape.data + from, tape.len - from);
    buf_reset(&tape);
    buf_append(&tape, snap.data, snap.len);
    buf_fini(&snap);
    restart();
    cr_assert_eq(rig_poll(r, 0, 2, 0).state, PLACE_BUSY);
    cr_assert_eq(rig_poll(r, 0, 1, 8).reason, GONE_LEFT);
    expect_position(900, 0);
}

/* Without memory it is asked again, and nothing is half done. */
Test(rebuild, no_memory_is_said)
{
    rig_free(r);
    r = rig_new(1, BLOCK_SLOTS); /* one block */
    reopen(1, 0, NULL, 0);
    expect_position(5, 0);
    cr_assert_eq(rig_poll(r, 0, 1, 700).state, PLACE_BUSY);
    expect_position(6, 0);
}
