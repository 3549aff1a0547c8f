/* test_mng_release.c: which segment is asked for the next people, and what its answer does. */
#include "tests/lib/mngmade.h"

#include "queuemng/release/pop.h"

MADE_SUITE(mng_release, "\"merge\": false", );

/* The segment that is asked for n people; 0: none. */
static seg_id ask(uint64_t n)
{
    const struct msg *g;

    made_step(&w, w.m->now_ms + 100);
    pops_by_hand(w.m, w.q, n);
    pops_tick(w.m, w.q);
    g = made_sent(&w, MSG_SEG_POP, NULL);
    return g != NULL ? g->seg_pop.seg : 0;
}

static void answer(struct mseg *s, uint64_t tick, uint32_t n, uint32_t left)
{
    struct msg_seg_popped g = { .epoch = 1, .seg = s->id, .tick = tick, .n = n };

    g.status = s->st;
    g.status.seg = s->id;
    g.status.waiting = left;
    g.status.last_tick = tick;
    made_step(&w, w.m->now_ms);
    on_seg_popped(w.m, s->node, &g);
}

Test(mng_release, the_first_segment_with_people_is_asked)
{
    struct mseg *x = made_sealed(&w, a, 100, 10);

    made_sealed(&w, b, 100, 10);
    cr_assert_eq(ask(3), x->id);
    cr_assert_eq(w.l->pop.n, 3);
    cr_assert(w.l->pop.busy);
}

/* A node lets in only so many of those who came back by one order: an operator's wish would end with the first. */
Test(mng_release, what_is_left_of_an_order_by_hand_while_people_are_back_is_due_next)
{
    struct mseg *x = made_sealed(&w, a, 100, 40);

    x->st.returning = 30;
    cr_assert_eq(ask(20), x->id);
    x->st.returning = 25;
    answer(x, w.l->pop.tick, 5, 40);
    cr_expect_not(w.l->pop.busy);
    cr_expect_eq(w.l->manual, 15);
    cr_assert_eq(ask(0), x->id);
    cr_expect_eq(w.l->pop.n, 15);
    x->st.returning = 10;
    answer(x, w.l->pop.tick, 15, 40);
    cr_expect_eq(w.l->manual, 0);
}

Test(mng_release, a_dry_segment_is_passed_over)
{
    struct mseg *y;

    made_sealed(&w, a, 100, 0);
    y = made_sealed(&w, b, 100, 10);
    cr_assert_eq(ask(3), y->id);
}

/* Also when the draw is ordered, and the node has not said that it is done. */
Test(mng_release, nobody_is_asked_for_before_the_draw_is_done)
{
    struct mseg *x = made_sealed(&w, a, 100, 10);

    made_sealed(&w, b, 100, 10);
    x->pre.early = true;
    cr_assert_eq(ask(3), 0);
    x->pre.n = 10;
    cr_assert_eq(ask(3), 0);
    x->st.drawn = true;
    cr_assert_eq(ask(3), x->id);
}

Test(mng_release, an_open_empty_one_is_asked_before_people_behind_it)
{
    struct mseg *x = made_open(&w, a, 0, 0); /* somebody may have joined since */

    made_sealed(&w, b, 100, 10);
    cr_assert_eq(ask(3), x->id);
}

/* Its node cannot write: it answered each release with busy, and nobody behind it was let in. */
Test(mng_release, an_empty_one_that_is_closed_to_joins_holds_up_nobody)
{
    struct mseg *x = made_open(&w, a, 0, 0), *y = made_open(&w, b, 10, 10);

    x->state = SEG_SEALED;
    x->want_seal = true;
    cr_assert_eq(ask(3), x->id, "somebody may have joined since");
    w.l->pop.busy = false;
    x->st.shut = true;
    cr_assert_eq(ask(3), y->id);
}

Test(mng_release, an_unreachable_head_is_waited_for_and_then_passed_over)
{
    struct mseg *y;

    made_sealed(&w, a, 100, 10);
    y = made_sealed(&w, b, 100, 10);
    made_node_down(&w, a, MADE_NOW);
    cr_assert_eq(ask(3), 0);
    made_step(&w, MADE_NOW + w.m->opts.skip_after_ms);
    cr_assert_eq(ask(3), y->id);
}

Test(mng_release, nobody_is_released_before_the_draw)
{
    struct mseg *x = made_sealed(&w, a, 100, 10);

    x->pre.early = true;
    made_sealed(&w, b, 100, 10);
    cr_assert_eq(ask(3), 0);
    x->st.drawn = true;
    cr_assert_eq(ask(3), x->id);
}

Test(mng_release, the_rest_goes_to_the_next_segment_when_the_head_runs_dry)
{
    struct mseg *x = made_sealed(&w, a, 100, 2), *y = made_sealed(&w, b, 100, 10);
    const struct msg *g;

    w.q->def.state = DEF_PASSTHROUGH; /* no rate holds the rest back */
    cr_assert_eq(ask(5), x->id);
    answer(x, w.l->pop.tick, 2, 0);
    g = made_sent(&w, MSG_SEG_POP, NULL);
    cr_assert_not_null(g);
    cr_assert_eq(g->seg_pop.seg, y->id);
    cr_assert_eq(w.l->released, 2);
}

Test(mng_release, the_rest_waits_while_the_head_has_people)
{
    struct mseg *x = made_sealed(&w, a, 100, 10);

    made_sealed(&w, b, 100, 10);
    cr_assert_eq(ask(5), x->id);
    answer(x, w.l->pop.tick, 2, 8);
    cr_assert_null(made_sent(&w, MSG_SEG_POP, NULL));
    cr_assert_not(w.l->pop.busy);
}

Test(mng_release, an_answer_counts_once)
{
    struct mseg *x = made_sealed(&w, a, 100, 10);
    uint64_t tick;

    cr_assert_eq(ask(3), x->id);
    tick = w.l->pop.tick;
    answer(x, tick, 3, 7);
    answer(x, tick, 3, 7);
    cr_assert_eq(w.l->released, 3);
}

Test(mng_release, an_answer_to_an_earlier_order_does_not_end_this_one)
{
    struct mseg *x = made_sealed(&w, a, 100, 10);

    cr_assert_eq(ask(3), x->id);
    answer(x, w.l->pop.tick - 1, 3, 7);
    cr_assert_eq(w.l->released, 0);
    cr_assert(w.l->pop.busy);
}

Test(mng_release, a_late_answer_is_asked_for_with_the_same_tick)
{
    struct mseg *x = made_sealed(&w, a, 100, 10);
    uint64_t tick;

    cr_assert_eq(ask(3), x->id);
    tick = w.l->pop.tick;
    made_step(&w, w.m->now_ms + MNG_AGAIN_MS - 1);
    pops_tick(w.m, w.q);
    cr_assert_null(made_sent(&w, MSG_SEG_POP, NULL));
    made_step(&w, w.m->now_ms + 1);
    pops_tick(w.m, w.q);
    cr_assert_eq(made_sent(&w, MSG_SEG_POP, NULL)->seg_pop.tick, tick);
}

Test(mng_release, a_release_that_was_given_up_counts_as_inside)
{
    struct mseg *x = made_sealed(&w, a, 100, 10);

    cr_assert_eq(ask(3), x->id);
    made_node_down(&w, a, w.m->now_ms);
    made_step(&w, w.m->now_ms + w.m->opts.skip_after_ms + 1);
    pops_tick(w.m, w.q);
    cr_assert_not(w.l->pop.busy);
    cr_assert_eq(x->unconfirmed, 3);
}
