/* test_mng_credit.c: which segment may let joins in at once, how many, what of that counts as
 * inside, and what comes back. */
#include "tests/lib/mngmade.h"

#include "queuemng/core/tick.h"
#include "queuemng/release/credit.h"
#include "queuemng/release/pop.h"
#include "queuemng/state/marks.h"
#include "queuemng/state/queue.h"

#define MAX 10

static struct mseg *s; /* the open tail of an empty lane, which somebody has just joined */

MADE_SUITE(mng_credit, "\"mode\": \"slots\", \"max_active\": 10, \"merge\": false",
           w.q->def.state = DEF_OPEN, s = made_open(&w, a, 5, 0),
           w.l->came_ms = MADE_NOW);

/* A tick later; NULL: no order. */
static const struct msg_seg_credit *look(void)
{
    const struct msg *g;

    made_step(&w, w.m->now_ms + 100);
    a->heard_ms = w.m->now_ms;
    w.m->wall_ms = w.m->now_ms;
    pops_tick(w.m, w.q);
    g = made_sent(&w, MSG_SEG_CREDIT, NULL);
    return g != NULL ? &g->seg_credit : NULL;
}

/* Of the last order: the numbers that are left, and where those set aside end. */
static void report(uint32_t at, uint32_t end, uint32_t aside_end, uint64_t entered, uint32_t active)
{
    struct seg_status st = s->st;

    st.credit_tick = s->credit.tick;
    st.credit_at = at;
    st.credit_end = end;
    st.aside_end = aside_end;
    st.entered = entered;
    st.active = active;
    made_step(&w, w.m->now_ms);
    seg_status(w.m, s, &st);
}

/* It has credit for four numbers, at first 5 .. 8. */
static void with_credit(void)
{
    uint32_t from = s->credit.end > 0 ? s->credit.end : 5;
    const struct msg_seg_credit *o;

    s->credit.sent_ms = 0;
    o = look();
    cr_assert(o != NULL && o->from == o->end && o->aside > 0, "first some are set aside");
    report(from, from, from + 4, 0, 0);
    o = look();
    cr_assert_not_null(o);
    cr_assert(o->from == from && o->end == from + 4 && o->lease_ms > 0);
    report(from, from + 4, from + 4, 0, 0);
}

/* By rate, with as many as that allows. */
static void with_credit_by_rate(double per_s)
{
    w.q->def.mode = MODE_RATE;
    w.q->def.release_per_s = w.q->rel.rate_per_s = w.q->allowed_per_s = per_s;
    with_credit();
}

Test(mng_credit, what_is_given_is_stored_and_counts_as_inside)
{
    const struct mark_row *r;

    with_credit();
    cr_assert_eq(w.l->n_chunks, 1);
    r = &w.l->chunk[0]->v[0];
    cr_expect(r->seg == s->id && r->from == 5 && r->end == 9 && r->at_ms != 0 && !r->again);
    cr_expect(w.l->chunk[0]->dirty && w.q->put_marks);
    cr_expect_eq(s->mark_end, 9);
    cr_expect_eq(slots_free(w.m, w.q), MAX - 4);
    report(7, 9, 20, 2, 2);
    cr_expect_eq(slots_free(w.m, w.q), MAX - 4, "two are inside, two may come");
    cr_expect_eq(w.l->released, 2);
    report(9, 9, 20, 2, 2);
    cr_expect_eq(slots_free(w.m, w.q), MAX - 2, "it is over: two were not used");
}

Test(mng_credit, until_its_node_has_answered_all_of_an_order_counts)
{
    struct seg_status st;

    with_credit();
    st = s->st;
    st.credit_at = st.credit_end; /* as if it were over, but by an older order */
    st.credit_tick = s->credit.tick - 1;
    made_step(&w, w.m->now_ms);
    seg_status(w.m, s, &st);
    cr_expect_eq(slots_free(w.m, w.q), MAX - 4);
}

Test(mng_credit, a_lost_segment_keeps_it_counted)
{
    with_credit();
    seg_lost(w.m, s);
    cr_expect_leq(slots_free(w.m, w.q), MAX - 4);
}

static uint64_t granted(void)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < w.l->n_chunks; i++)
        for (uint32_t k = 0; k < w.l->chunk[i]->n; k++)
            n += w.l->chunk[i]->v[k].end - w.l->chunk[i]->v[k].from;
    return n;
}

Test(mng_credit, of_a_lost_segment_only_what_may_have_been_used_will_count)
{
    with_credit();
    report(7, 9, 20, 2, 2);
    cr_expect_eq(granted(), 4, "all of it may be used");
    report(7, 7, 20, 2, 2);
    cr_expect_eq(granted(), 2);
    cr_expect_eq(s->mark_end, 9, "nobody gets those");
}

/* In place of the first: 9 .. 12. */
static void replaced(void)
{
    with_credit();
    report(5, 9, 13, 0, 0);
    s->credit.since_ms -= 1000;
    cr_assert_not_null(look());
    cr_expect_eq(granted(), 8);
}

Test(mng_credit, what_is_left_of_a_credit_that_another_one_has_replaced_was_not_released)
{
    replaced();
    report(9, 13, 17, 0, 0);
    cr_expect_eq(granted(), 4);
    report(10, 13, 17, 1, 1);
    report(10, 10, 17, 1, 1);
    cr_expect_eq(granted(), 1);
    cr_expect(w.l->chunk[0]->n == 1 && w.l->chunk[0]->v[0].from == 9);
}

Test(mng_credit, what_cannot_be_said_exactly_counts_as_released)
{
    replaced();
    report(11, 13, 13, 2, 2); /* both of the second? */
    report(13, 13, 13, 2, 2);
    cr_expect_eq(granted(), 8);
}

Test(mng_credit, what_was_used_before_others_were_set_aside_counts_as_released)
{
    with_credit();
    report(13, 13, 13, 2, 2);
    cr_expect_eq(granted(), 4);
}

Test(mng_credit, it_is_called_back_when_somebody_waits_or_the_queue_is_paused)
{
    const struct msg_seg_credit *o;

    with_credit();
    w.l->waiting = 1;
    o = look();
    cr_assert(o != NULL && o->from == o->end, "somebody waits");
    w.l->waiting = 0;
    report(9, 9, 9, 0, 0);
    with_credit();
    w.q->def.state = DEF_PAUSED;
    o = look();
    cr_assert(o != NULL && o->from == o->end);
    report(13, 13, 17, 0, 0);
    cr_expect_null(look());
}

static bool is_called_back(void)
{
    const struct msg *g = made_sent(&w, MSG_SEG_CREDIT, NULL);

    return g != NULL && g->seg_credit.from == g->seg_credit.end && g->seg_credit.tick != 0;
}

Test(mng_credit, a_pause_calls_it_back_in_its_own_step_and_after_an_order_that_is_under_way)
{
    struct err e = { 0 };

    with_credit();
    w.q->active = false;
    queue_wake(w.m, w.q);
    s->credit.tick++; /* as if it had not been answered */
    mng_out_reset(&w.out);
    cr_assert_eq(mng_order(w.m, w.m->now_ms, "q", MNG_PAUSE, &w.out, &e), 0, "%s", e.text);
    cr_expect(is_called_back());
    mng_out_reset(&w.out);
    cr_assert_eq(mng_order(w.m, w.m->now_ms, "q", MNG_REJECT, &w.out, &e), 0, "%s", e.text);
    cr_expect_not(is_called_back(), "once is enough");
    cr_expect_eq(slots_free(w.m, w.q), MAX - 4, "until it is answered all of it counts");
}

Test(mng_credit, it_is_called_back_when_the_rate_falls_below_it_or_to_nothing)
{
    with_credit_by_rate(100);
    w.q->def.release_per_s = 40;
    cr_expect_null(look(), "as much as is allowed now");
    w.q->def.release_per_s = 5;
    look();
    cr_expect(is_called_back());
    report(9, 9, 9, 0, 0);
    with_credit_by_rate(100);
    w.q->def.release_per_s = w.q->def.fallback_per_s = 0;
    look();
    cr_expect(is_called_back());
    report(13, 13, 13, 0, 0);
    cr_expect_null(look());
}

Test(mng_credit, it_is_called_back_when_max_active_falls_below_those_inside)
{
    with_credit();
    w.q->def.max_active = 4;
    cr_expect_null(look());
    w.q->def.max_active = 3;
    look();
    cr_expect(is_called_back());
}

Test(mng_credit, a_slow_rate_gives_the_one_that_is_saved_up)
{
    const struct msg_seg_credit *o;

    w.q->def.mode = MODE_RATE;
    w.q->def.release_per_s = 2;
    for (int i = 0; i < 12; i++)
        look();
    report(5, 5, 9, 0, 0);
    o = look();
    cr_assert_not_null(o);
    cr_expect_eq(o->end - o->from, 1);
    report(6, 6, 9, 1, 1);
    for (int i = 0; i < 3; i++)
        cr_expect_null(look(), "it is earned in half a second");
    while (w.m->now_ms - s->credit.since_ms < 600 && s->credit.end == 6)
        look();
    cr_expect_eq(s->credit.end, 7);
}

Test(mng_credit, what_is_used_is_given_anew_in_the_step_of_the_report)
{
    with_credit();
    w.q->active = false;
    queue_wake(w.m, w.q);
    report(7, 9, 20, 2, 2);
    mng_end(w.m);
    cr_expect(made_sent(&w, MSG_SEG_CREDIT, NULL) != NULL && s->credit.end > 9);
}

Test(mng_credit, all_lanes_together_have_what_a_tick_earns_and_one)
{
    with_credit_by_rate(40);
    cr_expect_eq(credit_spare(w.m, w.q), 1);
    report(7, 9, 20, 2, 2);
    cr_expect_eq(credit_spare(w.m, w.q), 3);
}

static void expect_none(const char *why)
{
    for (int i = 0; i < 5; i++)
        cr_expect_null(look(), "%s", why);
}

Test(mng_credit, only_a_tail_that_nobody_can_be_overtaken_in_gets_any)
{
    w.q->def.direct_entry = false;
    expect_none("turned off");
    w.q->def.direct_entry = true;
    w.l->returning = 1;
    expect_none("somebody has come back");
    w.l->returning = 0;
    w.l->pop.busy = true;
    w.l->pop.seg = s->id;
    w.l->pop.sent_ms = w.m->now_ms + 10000;
    expect_none("a release is under way");
    w.l->pop.busy = false;
    a->draining = true;
    expect_none("its node is emptied");
    a->draining = false;
    a->no_room = true;
    expect_none("its disk is full: it refuses joins");
    a->no_room = false;
    s->pre.early = true;
    expect_none("the pre-queue");
    s->pre.early = false;
    w.l->came_ms = 0;
    expect_none("nobody comes");
    w.l->came_ms = w.m->now_ms;
    cr_expect_not_null(look());
}

Test(mng_credit, it_lasts_while_it_is_in_use_and_no_longer)
{
    uint64_t tick;

    with_credit();
    tick = s->credit.tick;
    for (int i = 0; i < 3 && s->credit.tick == tick; i++)
        look();
    cr_expect_neq(s->credit.tick, tick, "its lease is renewed");
    cr_expect_eq(s->credit.end, 9, "with the same numbers");
    report(5, 9, 20, 0, 0);
    w.l->came_ms = w.m->now_ms - 60000;
    cr_assert_not_null(look());
    report(9, 9, 20, 0, 0);
    cr_expect_not(credit_is_warm(w.m, w.l));
    cr_expect_eq(slots_free(w.m, w.q), MAX);
}
