/* test_mng_move.c: the steps of a move between two segments, report by report. */
#include "tests/lib/mngmade.h"

#include "queuemng/chain/chain.h"
#include "queuemng/chain/move.h"
#include "queuemng/chain/move_state.h"
#include "queuemng/state/segment.h"

static struct mseg *x, *y; /* y is behind x, and may be merged into it */
MADE_SUITE(mng_move, "\"merge\": true",
           x = made_sealed(&w, a, 100, 10); y = made_sealed(&w, b, 100, 5));

static struct mmove *only(void)
{
    cr_assert_eq(w.m->moves.n, 1);
    return container_of(list_first(&w.m->moves), struct mmove, in);
}

static void report(struct mnode *n, enum move_side side, enum move_report what)
{
    const struct mmove *v = container_of(list_first(&w.m->moves), struct mmove, in);
    struct msg_move_status g = { .epoch = 1, .move = v->id, .from = v->from_id, .to = v->to_id,
                                 .side = side, .report = what, .tickets = 5, .why = "test" };

    on_move_status(w.m, n, &g);
}

static void go_to(enum move_state s)
{
    moves_plan(w.m, w.l);
    if (s >= MOVE_COPY)
        report(a, MOVE_SIDE_IN, MOVE_ACCEPTED);
    if (s >= MOVE_COMMITTING)
        report(a, MOVE_SIDE_IN, MOVE_FENCED);
    if (s >= MOVE_CLEARING)
        report(a, MOVE_SIDE_IN, MOVE_COMMITTED);
    cr_assert_eq(only()->state, s);
}

Test(mng_move, a_segment_is_merged_into_the_one_before_it)
{
    peer_no to;

    go_to(MOVE_PLANNED);
    cr_assert(only()->from == y && only()->to == x);
    cr_assert_eq(made_sent(&w, MSG_MOVE_IN, &to)->move_in.expect, 5);
    cr_assert_eq(to, a->peer);
    cr_assert(x->move == only() && y->move == only());
}

Test(mng_move, nothing_is_merged_that_would_not_fit)
{
    y->st.waiting = 91;
    moves_plan(w.m, w.l);
    cr_assert_eq(w.m->moves.n, 0);
    y->st.waiting = 90;
    moves_plan(w.m, w.l);
    cr_assert_eq(w.m->moves.n, 1);
}

/* What comes is written down, as a join is. */
Test(mng_move, nothing_is_merged_into_a_node_whose_disk_has_no_room)
{
    x->node->no_room = true;
    moves_plan(w.m, w.l);
    cr_assert_eq(w.m->moves.n, 0);
    x->node->no_room = false;
    moves_plan(w.m, w.l);
    cr_assert_eq(w.m->moves.n, 1);
}

/* It has sent all, and waits for us alone. */
Test(mng_move, a_source_whose_target_gave_up_unheard_is_no_progress)
{
    msec_t was;

    go_to(MOVE_COPY);
    x->st.move = only()->id;
    made_step(&w, MADE_NOW + 1000);
    report(b, MOVE_SIDE_OUT, MOVE_COPYING);
    was = only()->progress_ms;
    cr_assert_eq(was, MADE_NOW + 1000);
    x->st.move = 0;
    made_step(&w, MADE_NOW + 2000);
    report(b, MOVE_SIDE_OUT, MOVE_COPYING);
    cr_expect_eq(only()->progress_ms, was);
}

Test(mng_move, an_open_segment_is_not_moved)
{
    y->state = y->st.state = SEG_OPEN;
    moves_plan(w.m, w.l);
    cr_assert_eq(w.m->moves.n, 0);
}

Test(mng_move, nothing_is_moved_that_is_being_rebuilt)
{
    seg_set_health(x, SEG_REBUILDING);
    moves_plan(w.m, w.l);
    cr_assert_eq(w.m->moves.n, 0);
}

Test(mng_move, the_source_copies_once_the_target_has_accepted)
{
    peer_no to;

    go_to(MOVE_COPY);
    cr_assert_not_null(made_sent(&w, MSG_MOVE_OUT, &to));
    cr_assert_eq(to, b->peer);
}

Test(mng_move, the_commit_is_the_alias_and_only_the_target_hears_of_it_first)
{
    peer_no to;

    go_to(MOVE_COMMITTING);
    cr_assert_eq(alias_of(w.l, y->id), x->id);
    cr_assert(w.q->put_chain);
    cr_assert(made_sent(&w, MSG_MOVE_END, &to)->move_end.commit);
    cr_assert_eq(to, a->peer);
}

Test(mng_move, a_committed_source_leaves_the_chain_and_is_told_last)
{
    seg_id id = y->id;
    peer_no to;

    go_to(MOVE_CLEARING);
    cr_assert_null(seg_find(w.m, id));
    cr_assert_eq(seg_resolve(w.m, id), x);
    cr_assert_eq(x->st.waiting, 15);
    cr_assert(made_sent(&w, MSG_MOVE_END, &to)->move_end.commit);
    cr_assert_eq(to, b->peer);
    report(b, MOVE_SIDE_OUT, MOVE_COMMITTED);
    cr_assert_eq(w.m->moves.n, 0);
    cr_assert(a->moves == 0 && b->moves == 0 && x->move == NULL);
}

Test(mng_move, a_commit_is_undone_when_the_target_is_lost_before_it_has_heard)
{
    go_to(MOVE_COMMITTING);
    seg_lost(w.m, x);
    moves_tick(w.m);
    cr_assert_eq(alias_of(w.l, y->id), 0);
    cr_assert_eq(only()->state, MOVE_ABORTING);
    cr_assert_eq(y->st.waiting, 5, "the source goes on");
}

Test(mng_move, after_the_commit_time_does_not_end_it)
{
    go_to(MOVE_COMMITTING);
    made_step(&w, MADE_NOW + MNG_MOVE_IDLE_MS + 1);
    moves_tick(w.m);
    cr_assert_eq(only()->state, MOVE_COMMITTING);
    cr_assert_not_null(made_sent(&w, MSG_MOVE_END, NULL), "it is said again");
}

Test(mng_move, without_progress_it_is_aborted_at_both_ends)
{
    go_to(MOVE_COPY);
    made_step(&w, MADE_NOW + MNG_MOVE_IDLE_MS + 1);
    moves_tick(w.m);
    cr_assert_eq(only()->state, MOVE_ABORTING);
    cr_assert_not(made_sent(&w, MSG_MOVE_END, NULL)->move_end.commit);
    report(a, MOVE_SIDE_IN, MOVE_ABORTED);
    report(b, MOVE_SIDE_OUT, MOVE_ABORTED);
    cr_assert_eq(w.m->moves.n, 0);
    cr_assert(x->move == NULL && y->move == NULL);
}

/* Its source since it is too long, its target since it has no room: each try takes an id and a copy. */
Test(mng_move, what_a_node_gives_up_is_tried_again_later_and_later)
{
    msec_t now = MADE_NOW, gap = 0;

    for (unsigned i = 0; i < 10; i++) {
        msec_t began;

        for (began = now; w.m->moves.n == 0; now += 100) {
            made_step(&w, now);
            moves_plan(w.m, x->lane);
        }
        cr_assert(i == 0 || now - began >= gap);
        gap = i == 0 ? 200 : 2 * gap < 25600 ? 2 * gap : 25600;
        only()->state = i % 3 != 0 ? MOVE_COPY : MOVE_PLANNED;
        if (i % 3 == 1)
            report(b, MOVE_SIDE_OUT, MOVE_ABORTED);
        report(a, MOVE_SIDE_IN, MOVE_ABORTED);
        if (i % 3 == 2)
            report(b, MOVE_SIDE_OUT, MOVE_ABORTED);
        cr_assert_eq(w.m->moves.n, 0);
    }
}

Test(mng_move, a_node_that_goes_ends_an_early_move_only)
{
    go_to(MOVE_COMMITTING);
    moves_node_down(w.m, b);
    cr_assert_eq(only()->state, MOVE_COMMITTING);
    only()->state = MOVE_COPY;
    moves_node_down(w.m, b);
    cr_assert_eq(only()->state, MOVE_ABORTING);
}

Test(mng_move, a_report_by_the_wrong_end_is_not_believed)
{
    go_to(MOVE_PLANNED);
    report(b, MOVE_SIDE_IN, MOVE_ACCEPTED);
    cr_assert_eq(only()->state, MOVE_PLANNED);
}

Test(mng_move, a_drain_moves_a_segment_to_another_node_directly_before_it)
{
    struct mseg *t;

    b->draining = true;
    moves_drain(w.m, b);
    t = only()->to;
    cr_assert_eq(only()->from, y);
    cr_assert(t->kind == OPEN_TARGET && t->node == a);
    cr_assert_eq(list_next(&w.l->segs, &t->in_lane), &y->in_lane);
    cr_assert_null(made_sent(&w, MSG_MOVE_IN, NULL), "not before the target is open");
}

static struct drain_state drain_of_b(void)
{
    struct drain_state d;

    moves_drain_state(w.m, b, &d);
    return d;
}

/* What an operator sees who waits for a node to be empty. */
Test(mng_move, a_drain_says_how_far_it_is_and_what_holds_it_up)
{
    struct drain_state d;
    msec_t now = w.m->now_ms;

    b->draining = true;
    d = drain_of_b();
    cr_expect(d.left == 1 && d.moving == 0 && d.again_ms == -1);
    cr_expect_str_eq(d.why, "", "its move begins soon");
    moves_drain(w.m, b);
    d = drain_of_b();
    cr_expect(d.left == 1 && d.moving == 1);
    cr_expect_str_eq(d.why, "");
    move_free(w.m, only());
    y->move_ms = now + 3200; /* as behind some of these */
    y->moves_given_up = 4;
    snprintf(y->move_why, sizeof(y->move_why), "no room");
    d = drain_of_b();
    cr_expect(d.left == 1 && d.moving == 0 && d.seg == y->id);
    cr_expect_eq(d.again_ms, 3200);
    cr_expect_str_eq(d.why, "no room");
    made_step(&w, now + 3300);
    d = drain_of_b();
    cr_expect_eq(d.again_ms, -1, "any moment");
    cr_expect_str_eq(d.why, "no room", "of the last one");
    a->registered = false;
    d = drain_of_b();
    cr_expect_str_eq(d.why, "no other node has room");
    cr_expect_eq(d.seg, y->id);
    a->registered = true;
    y->move_why[0] = 0;
    y->pre.early = true;
    d = drain_of_b();
    cr_expect_str_eq(d.why, "it waits for the draw of places");
    y->pre.early = false;
    y->st.waiting = y->st.returning = y->st.records = 0;
    d = drain_of_b();
    cr_expect_eq(d.left, 0);
    cr_expect_str_eq(d.why, "");
}

/* The words are those of the node that gave it up. */
Test(mng_move, why_a_move_was_given_up_is_kept_until_the_next)
{
    go_to(MOVE_COPY);
    cr_expect_str_eq(y->move_why, "");
    report(a, MOVE_SIDE_IN, MOVE_ABORTED);
    cr_expect_str_eq(y->move_why, "test");
    cr_expect_eq(x->move_why[0], 0, "of the target nothing is said");
}

Test(mng_move, ordinals_are_the_tickets_wherever_they_are)
{
    seg_set_base(x);
    seg_set_base(y);
    cr_assert(x->base == 1 && y->base == 101);
    go_to(MOVE_COMMITTING);
    cr_assert_eq(w.l->alias[0].base, 101);
    report(a, MOVE_SIDE_IN, MOVE_COMMITTED);
    cr_assert_eq(x->base, 1);
}

/* A merge that was given up an hour ago does not hold up the drain that begins now. */
Test(mng_move, a_drain_does_not_speak_of_what_was_before_it)
{
    struct err e;

    snprintf(y->move_why, sizeof(y->move_why), "test");
    mng_end(w.m);
    cr_assert_eq(mng_drain(w.m, MADE_NOW, b->name, true, &w.out, &e), 0, "%s", e.text);
    cr_expect_str_eq(y->move_why, "");
    made_step(&w, MADE_NOW);
}
