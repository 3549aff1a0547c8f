/* test_replica_seen.c: polls that routers answered count as if they had been asked here, and
 * nobody times out for a poll of which this node has not heard yet, or never will. */
#include "segment/tickets/waiting.h"
#include "tests/lib/replicarig.h"

/* Idle time of a game: 3 s, of a browser: 8 s; told: at most 1 s. */
static struct rig *r;
static uint64_t seq;

static void setup(void)
{
    r = rig_new(1, 1u << 20);
    seq = 0;
    rig_open(r, 0, 1, OPEN_TAIL, 2000, 0);
    rig_join(r, 0, 1, 1000);
}

static void teardown(void)
{
    rig_free(r);
}

TestSuite(replica_seen, .init = setup, .fini = teardown);

static void says(peer_no router, unsigned flags, seg_id name, unsigned client, uint32_t from,
                 uint32_t n, uint32_t told_ms)
{
    uint8_t *marks = malloc(n * MARK_BYTES_MAX + 1), *p = marks;
    struct seen_row row = { .name = name, .client = (uint8_t)client };
    uint32_t last = 0;

    for (uint32_t i = 0; i < n; i++)
        p = mark_put(p, &last, from + i, pace_class(told_ms));
    row.marks = marks;
    row.n_marks = (uint32_t)(p - marks);
    rig_seen(r, 0, router, (struct msg_seen) { .clock_ms = 1, .seq = ++seq, .n = n > 0,
                                               .v = &row, .flags = (uint8_t)flags });
    free(marks);
}

static bool waits(seg_id name, uint32_t number)
{
    struct location s;

    return segtab_find(r->t[0], name, number, &s) == FOUND_HERE && s.slot != SEGQ_NONE &&
           segq_is_alive(&s.seg->b.q, s.slot);
}

static uint32_t waiting(void)
{
    return segtab_seg(r->t[0], 1)->b.q.waiting;
}

static struct segtab_counts counts(void)
{
    struct segtab_counts n;

    segtab_count(r->t[0], &n);
    return n;
}

Test(replica_seen, a_mark_keeps_its_ticket_in_line)
{
    for (int i = 0; i < 10; i++) {
        rig_heard(r, 0, RIG_ROUTER, 2000);
        says(RIG_ROUTER, 0, 1, CLIENT_GAME, 100, 300, 1000);
    }
    cr_expect_eq(waiting(), 300);
    cr_expect(waits(1, 100) && waits(1, 399) && !waits(1, 400));
    cr_expect_eq(segtab_seg(r->t[0], 1)->polls, 3000);
    cr_expect_eq(counts().seen_marks, 3000);
    rig_heard(r, 0, RIG_ROUTER, 6000);
    cr_expect_eq(waiting(), 0);
}

Test(replica_seen, a_mark_counts_for_its_class_and_its_told_interval)
{
    says(RIG_ROUTER, 0, 1, CLIENT_BROWSER, 10, 1, 1000);
    says(RIG_ROUTER, 0, 1, CLIENT_GAME, 20, 1, 4000);
    cr_expect_eq(segtab_seg(r->t[0], 1)->classes & (1u << CLIENT_BROWSER), 1u << CLIENT_BROWSER);
    rig_heard(r, 0, RIG_ROUTER, 6000);
    cr_expect(waits(1, 10) && waits(1, 20) && waiting() == 2);
    rig_heard(r, 0, RIG_ROUTER, 2500);
    cr_expect(waits(1, 10) && !waits(1, 20));
    rig_heard(r, 0, RIG_ROUTER, 3000);
    cr_expect(!waits(1, 10));
}

/* A router answers at T, and its mark is here SEEN_LATE_MS later. */
Test(replica_seen, a_late_mark_is_no_deadline_before_its_time)
{
    struct pace_entry pace = { 7, 0, 1000, 60000, 60, 0 };
    struct seg *g = segtab_seg(r->t[0], 1);
    uint8_t now, due;

    rig_order(r, 0, (struct msg) { .type = MSG_SEG_AHEAD,
                                   .seg_ahead = { .epoch = 1, .n_pace = 1, .pace = &pace } });
    cr_assert_gt(g->told_max_ms, 60000);
    for (uint32_t told = 1, next; told <= g->told_max_ms; told = next) {
        next = told + 1 + told / 9;
        if (told < g->told_max_ms && next > g->told_max_ms)
            next = g->told_max_ms;
        says(RIG_ROUTER, 0, 1, CLIENT_BROWSER, 5, 1, told);
        now = segtab_unit(r->t[0], g);
        due = segq_deadline(&g->b.q, 5);
        cr_assert_geq((uint8_t)(due - now) * g->unit_ms, 8000 + told + SEEN_LATE_MS, "%u", told);
        cr_assert_leq(8000 + pace_class_ms(pace_class(told)) + SEEN_LATE_MS, 120 * g->unit_ms);
    }
}

/* Whoever answers, the next poll may be answered by a router. */
Test(replica_seen, a_poll_here_leaves_time_for_a_mark_as_a_mark_does)
{
    struct place_ans a = rig_poll(r, 0, 1, 5);
    const struct seg *g = segtab_seg(r->t[0], 1);

    cr_expect_geq((uint8_t)(segq_deadline(&g->b.q, 5) - segtab_unit(r->t[0], g)) * g->unit_ms,
                  3000 + a.poll_after_ms + SEEN_LATE_MS);
    rig_run(r, 3000 + a.poll_after_ms);
    cr_expect(waits(1, 5));
    rig_run(r, SEEN_LATE_MS - 100);
    says(RIG_ROUTER, 0, 1, CLIENT_GAME, 5, 1, 1000);
    rig_heard(r, 0, RIG_ROUTER, 2000);
    cr_expect(waits(1, 5) && waiting() == 1);
}

Test(replica_seen, a_deadline_is_never_brought_forward)
{
    struct seg *g = segtab_seg(r->t[0], 1);
    uint8_t due;

    says(RIG_ROUTER, 0, 1, CLIENT_BROWSER, 5, 1, 2000);
    due = segq_deadline(&g->b.q, 5);
    rig_run(r, 200);
    says(RIG_ROUTER, 0, 1, CLIENT_GAME, 5, 1, 100);
    cr_expect_eq(segq_deadline(&g->b.q, 5), due);
    rig_poll(r, 0, 1, 5);
    cr_expect_eq(segq_deadline(&g->b.q, 5), due);
}

Test(replica_seen, marks_of_the_dead_the_moved_and_the_unknown_change_nothing)
{
    rig_leave(r, 0, 1, 7);
    rig_pop(r, 0, 1, 1, 2);
    says(RIG_ROUTER, 0, 1, CLIENT_GAME, 7, 1, 1000);
    says(RIG_ROUTER, 0, 1, CLIENT_GAME, 0, 2, 1000);
    says(RIG_ROUTER, 0, 1, CLIENT_GAME, 5000, 2, 1000);
    says(RIG_ROUTER, 0, 9, CLIENT_GAME, 0, 2, 1000);
    says(RIG_ROUTER, 0, 1, CLIENT_GAME, UINT32_MAX, 1, UINT32_MAX);
    cr_expect(counts().seen_marks == 8 && counts().seen_late == 8);
    cr_expect_eq(waiting(), 997);
    cr_expect_eq(segtab_seg(r->t[0], 1)->polls, 0);
}

Test(replica_seen, a_mark_is_heard_and_moves_the_clock)
{
    struct segtab_counts was = counts();

    rig_jump(r, 300);
    says(RIG_ROUTER, 0, 1, CLIENT_GAME, 0, 0, 0);
    cr_expect_eq(counts().service_ms, was.service_ms + 300);
}

/* Told everything a moment ago, it takes that with it: nobody times out before they were due. */
Test(replica_seen, nobody_times_out_soon_after_a_router_that_ended_without_farewell)
{
    struct pace_entry pace = { 7, 0, 9000, 9000, 0, 0 };

    rig_order(r, 0, (struct msg) { .type = MSG_SEG_AHEAD,
                                   .seg_ahead = { .epoch = 1, .n_pace = 1, .pace = &pace } });
    rig_up(r, 0, RIG_ROUTER2, RPC_ROUTER, "rt2");
    says(RIG_ROUTER, 0, 1, CLIENT_GAME, 0, 0, 0);
    says(RIG_ROUTER2, 0, 1, CLIENT_GAME, 0, 0, 0);
    rig_run(r, 2500);
    rig_down(r, 0, RIG_ROUTER);
    cr_expect_eq(counts().spared, 1);
    for (int i = 0; i < 9; i++) { /* cut off it told for 15 s more, for 9 s each */
        says(RIG_ROUTER2, 0, 1, CLIENT_GAME, 50, 1, 1000);
        rig_heard(r, 0, RIG_ROUTER2, 2600);
    }
    cr_expect_eq(waiting(), 1000);
    for (int i = 0; i < 5; i++) {
        says(RIG_ROUTER2, 0, 1, CLIENT_GAME, 50, 1, 1000);
        rig_heard(r, 0, RIG_ROUTER2, 2000);
    }
    cr_expect_eq(waiting(), 1);
}

/* It may tell people what this node hears late, or never: until it speaks, or its link ends. */
Test(replica_seen, nobody_times_out_while_a_router_is_silent)
{
    struct pace_entry pace = { 7, 0, 1000, 1000, 0, 0 };

    rig_order(r, 0, (struct msg) { .type = MSG_SEG_AHEAD,
                                   .seg_ahead = { .epoch = 1, .n_pace = 1, .pace = &pace } });
    rig_up(r, 0, RIG_ROUTER2, RPC_ROUTER, "rt2");
    says(RIG_ROUTER, 0, 1, CLIENT_GAME, 0, 0, 0);
    says(RIG_ROUTER2, 0, 1, CLIENT_GAME, 0, 0, 0);
    rig_heard(r, 0, RIG_ROUTER2, 20000); /* longer than anybody is told and may be silent */
    cr_expect_eq(waiting(), 1000);
    for (int i = 0; i < 10; i++) {
        says(RIG_ROUTER, 0, 1, CLIENT_GAME, 50, 1, 1000);
        rig_heard(r, 0, RIG_ROUTER2, 500);
    }
    cr_expect_eq(waiting(), 1);
}

Test(replica_seen, a_router_that_said_farewell_costs_no_time_out)
{
    rig_up(r, 0, RIG_ROUTER2, RPC_ROUTER, "rt2");
    rig_up(r, 0, 6, RPC_ROUTER, "rt3");
    says(RIG_ROUTER, SEEN_LAST, 1, CLIENT_GAME, 0, 0, 0);
    rig_down(r, 0, RIG_ROUTER);
    rig_down(r, 0, 6); /* it has never asked */
    cr_expect_eq(counts().spared, 0);
    rig_run(r, 5500);
    cr_expect_eq(waiting(), 0);
}

Test(replica_seen, a_farewell_is_taken_back_by_the_next_word)
{
    says(RIG_ROUTER, SEEN_LAST, 1, CLIENT_GAME, 0, 0, 0);
    says(RIG_ROUTER, 0, 1, CLIENT_GAME, 3, 1, 1000);
    rig_down(r, 0, RIG_ROUTER);
    cr_expect_eq(counts().spared, 1);
}

Test(replica_seen, who_is_spared_is_not_passed_over_as_away)
{
    says(RIG_ROUTER, 0, 1, CLIENT_GAME, 0, 0, 0);
    rig_up(r, 0, RIG_ROUTER2, RPC_ROUTER, "rt2");
    rig_run(r, 2000);
    rig_down(r, 0, RIG_ROUTER);
    rig_order(r, 0, (struct msg) { .type = MSG_SEG_POP,
                                   .seg_pop = { .epoch = 1, .seg = 1, .tick = 1, .n = 5,
                                                .released_at_ms = 1, .away_ms = 1 } });
    cr_expect_eq(r->popped.n, 5);
    cr_expect_eq(segtab_seg(r->t[0], 1)->away, 0);
}

/* During a fence nobody takes marks: who may have been told is spared when it is over. */
static void fenced(bool commit)
{
    rig_open(r, 0, 2, OPEN_TAIL, 100, 0);
    rig_join(r, 0, 2, 100);
    rig_seal(r, 0, 1, 2);
    says(RIG_ROUTER, 0, 2, CLIENT_GAME, 0, 0, 0);
    rig_order(r, 0, (struct msg) { .type = MSG_MOVE_IN, .move_in = { 1, 4, 2, 1, 500 } });
    rig_order(r, 0, (struct msg) { .type = MSG_MOVE_OUT,
                                   .move_out = { 1, 4, 2, 1, "node0", "x:1" } });
    says(RIG_ROUTER, 0, 2, CLIENT_GAME, 0, 100, 1000);
    cr_expect_eq(counts().seen_late, 100);
    rig_order(r, 0, (struct msg) { .type = MSG_MOVE_END, .move_end = { 1, 4, 2, 1, commit } });
    cr_expect_gt(segtab_seg(r->t[0], commit ? 1 : 2)->spared_until_ms, r->t[0]->service_ms);
    says(RIG_ROUTER, 0, 2, CLIENT_GAME, 0, 100, 1000);
    cr_expect_eq(counts().seen_late, 100);
}

Test(replica_seen, marks_during_a_fence_that_is_committed)
{
    fenced(true);
}

Test(replica_seen, marks_during_a_fence_that_is_lifted)
{
    fenced(false);
}

Test(replica_seen, a_key_is_forgotten_by_a_mark_as_by_a_poll)
{
    static const char key[] = { SUBJECT_KEY_MARK, 'k', 0 };
    uint32_t number = rig_join_as(r, 0, 1, key).number;
    struct seg *g = segtab_seg(r->t[0], 1);

    cr_assert_eq(g->b.subjects.n, 1);
    says(RIG_ROUTER, 0, 1, CLIENT_GAME, number, 1, 1000);
    cr_expect_eq(g->b.subjects.n, 1);
    for (int i = 0; i < 31; i++) {
        says(RIG_ROUTER, 0, 1, CLIENT_GAME, number, i < 30, 1000);
        rig_run(r, 2000);
    }
    cr_expect_eq(g->b.subjects.n, 1);
    says(RIG_ROUTER, 0, 1, CLIENT_GAME, number, 1, 1000);
    cr_expect_eq(g->b.subjects.n, 0);
}

/* ---- tickets to which somebody listens far away ---------------------------------------------- */

static struct { /* LET_IN */
    peer_no to;
    uint32_t number, n;
    int64_t at_ms;
} told;

static void hear(void *ctx, const struct rig_wire *w, const struct msg *m)
{
    (void)ctx;
    if (m->type != MSG_LET_IN)
        return;
    told.to = w->peer;
    for (uint32_t i = 0; i < m->let_in.n; i++) {
        const struct let_in_row *v = &m->let_in.v[i];

        cr_expect(v->seg == 1 && v->pass_len > 0 && v->pass_expires_s > 0);
        told.number = v->number;
        told.at_ms = v->released_at_ms;
        told.n++;
    }
}

static void wants(peer_no router, uint32_t number, uint8_t client)
{
    struct want_row row = { 1, number, client };

    r->hear = hear;
    told.n = 0;
    rig_seen(r, 0, router, (struct msg_seen) { .clock_ms = 1, .seq = ++seq, .n_want = 1, .want = &row });
}

static void pops(uint64_t tick, uint32_t n)
{
    rig_order(r, 0, (struct msg) { .type = MSG_SEG_POP,
                                   .seg_pop = { .epoch = 1, .seg = 1, .tick = tick, .n = n,
                                                .released_at_ms = 5000 } });
}

Test(replica_seen, who_wants_to_hear_of_a_release_is_told_once_it_is_stored)
{
    rig_up(r, 0, RIG_ROUTER2, RPC_ROUTER, "rt2");
    says(RIG_ROUTER, 0, 1, CLIENT_GAME, 0, 0, 0);
    wants(RIG_ROUTER2, 1, CLIENT_GAME);
    wants(RIG_ROUTER2, 2, CLIENT_GAME);
    pops(1, 2);
    rig_run(r, 300);
    cr_expect_eq(told.n, 0, "it may still be undone");
    rig_stored(r, 0, 1, 1);
    cr_expect(told.n == 1 && told.to == RIG_ROUTER2 && told.number == 1 && told.at_ms == 5000);
    cr_expect_eq(segtab_seg(r->t[0], 1)->claimed, 1, "as if it had polled");
    rig_run(r, 300);
    cr_expect_eq(told.n, 1, "once");
    pops(2, 1);
    rig_stored(r, 0, 1, 2);
    cr_expect(told.n == 2 && told.number == 2);
}

Test(replica_seen, who_listens_no_more_or_has_left_is_not_told)
{
    wants(RIG_ROUTER, 0, CLIENT_GAME);
    wants(RIG_ROUTER, 1, CLIENT_GAME);
    wants(RIG_ROUTER, 2, CLIENT_GAME);
    wants(RIG_ROUTER, 0, WANT_NO_MORE);
    rig_leave(r, 0, 1, 2);
    wants(RIG_ROUTER, 5000, CLIENT_GAME); /* nobody's */
    rig_pop(r, 0, 1, 1, 5);
    cr_expect(told.n == 1 && told.number == 1);
    cr_expect_eq(segtab_seg(r->t[0], 1)->claimed, 1);
}

Test(replica_seen, a_want_that_comes_behind_the_release_is_answered_at_once)
{
    rig_pop(r, 0, 1, 1, 1);
    wants(RIG_ROUTER, 0, CLIENT_GAME);
    cr_expect(told.n == 1 && told.number == 0);
}

Test(replica_seen, a_link_that_ends_wants_nothing)
{
    rig_up(r, 0, RIG_ROUTER2, RPC_ROUTER, "rt2");
    says(RIG_ROUTER2, 0, 1, CLIENT_GAME, 0, 0, 0);
    for (uint32_t i = 0; i < 100; i++)
        wants(RIG_ROUTER, i, CLIENT_GAME);
    rig_down(r, 0, RIG_ROUTER);
    rig_pop(r, 0, 1, 1, 100);
    cr_expect_eq(told.n, 0);
    cr_expect_eq(segtab_seg(r->t[0], 1)->claimed, 0);
}

Test(replica_seen, many_are_told_in_several_frames)
{
    for (uint32_t i = 0; i < 900; i++)
        wants(RIG_ROUTER, i, CLIENT_GAME);
    rig_pop(r, 0, 1, 1, 900);
    rig_run(r, 200);
    cr_expect_eq(told.n, 900);
}

/* Several listen to one ticket at one router: who goes does not end it for the others. */
Test(replica_seen, the_last_who_listens_no_more_ends_it)
{
    for (unsigned i = 0; i < 3; i++) {
        wants(RIG_ROUTER, i, CLIENT_GAME);
        wants(RIG_ROUTER, i, CLIENT_GAME);
        wants(RIG_ROUTER, i, WANT_NO_MORE);
    }
    wants(RIG_ROUTER, 1, WANT_NO_MORE);
    wants(RIG_ROUTER, 1, WANT_NO_MORE); /* once too often */
    rig_pop(r, 0, 1, 1, 3);
    cr_expect_eq(told.n, 2);
    cr_expect_eq(segtab_seg(r->t[0], 1)->claimed, 2);
}

Test(replica_seen, who_comes_back_and_waits_is_told_of_the_next_release)
{
    rig_pop(r, 0, 1, 1, 1);
    rig_run(r, segtab_seg(r->t[0], 1)->queue->claim_ms + 1000);
    wants(RIG_ROUTER, 0, CLIENT_GAME);
    rig_run(r, 300);
    cr_expect_eq(told.n, 0);
    cr_assert_eq(segtab_seg(r->t[0], 1)->b.released.n[SESSION_RETURNING], 1);
    rig_pop(r, 0, 1, 2, 1);
    cr_expect(told.n == 1 && told.number == 0);
}
