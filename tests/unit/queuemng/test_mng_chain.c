/* test_mng_chain.c: the plan of one lane: places ahead, sealing, opening, removing. */
#include "tests/lib/mngmade.h"

#include "queuemng/state/marks.h"
#include "queuemng/chain/chain.h"
#include "queuemng/chain/reconcile.h"
#include "queuemng/core/segment_nodes.h"

static struct made w;

static void setup(void)
{
    made_new(&w, "\"merge\": false, \"segment_capacity\": 100, \"open_next_at\": 0.5");
}

static void teardown(void)
{
    made_free(&w);
}

TestSuite(mng_chain, .init = setup, .fini = teardown);

static bool was_told(const struct mnode *n, const struct mseg *s, uint64_t ahead)
{
    for (uint32_t i = 0; i < n->n_ahead; i++)
        if (n->ahead[i].seg == s->id)
            return n->ahead[i].ahead == ahead;
    return false;
}

Test(mng_chain, places_ahead_add_up_along_the_chain)
{
    struct mnode *n = made_node(&w, "a");
    struct mseg *x = made_sealed(&w, n, 100, 10), *y = made_sealed(&w, n, 100, 5);
    struct mseg *z = made_open(&w, n, 3, 3);

    lane_plan(w.m, w.l);
    cr_assert(was_told(n, x, 0) && was_told(n, y, 10) && was_told(n, z, 15));
    cr_assert_eq(w.l->waiting, 18);
    n->n_ahead = 0;
    lane_plan(w.m, w.l);
    cr_assert_eq(n->n_ahead, 0, "what was said is not said again");
}

/* Its node has a link, and reports: but what it shows does not fall. */
Test(mng_chain, nobody_behind_a_node_that_cannot_write_is_told_less_than_its_own_people)
{
    struct mnode *n = made_node(&w, "a"), *broken = made_node(&w, "b");
    struct mseg *x = made_sealed(&w, n, 100, 50), *y = made_sealed(&w, broken, 100, 40);
    struct mseg *z = made_open(&w, n, 10, 10);
    struct msg_seg_status g = { .epoch = w.m->epoch, .holds = true };

    n->heard_ms = broken->heard_ms = w.m->now_ms;
    y->st.ahead = 50;
    lane_plan(w.m, w.l);
    cr_assert(was_told(broken, y, 50) && was_told(n, z, 90));
    on_seg_status(w.m, broken, &g);
    x->st.waiting = 20; /* thirty are let in */
    n->n_ahead = broken->n_ahead = 0;
    lane_plan(w.m, w.l);
    cr_expect(was_told(broken, y, 20), "for when it can write again");
    cr_expect_not(was_told(n, z, 60), "the first in z stands behind the last in y, who is shown 90");
    cr_expect(z->ahead == 90 && z->ahead_sent == 90);
    g.holds = false;
    y->st.ahead = 20;
    broken->n_ahead = 0;
    on_seg_status(w.m, broken, &g);
    lane_plan(w.m, w.l);
    cr_expect(was_told(n, z, 60));
    cr_expect(was_told(broken, y, 20), "said again: the turn that had it may have been taken back");
}

Test(mng_chain, nobody_behind_a_segment_that_is_rebuilt_is_told_a_new_place)
{
    struct mnode *n = made_node(&w, "a");
    struct mseg *x = made_sealed(&w, n, 100, 10), *y = made_sealed(&w, n, 100, 5);

    seg_set_health(x, SEG_REBUILDING);
    lane_plan(w.m, w.l);
    cr_assert_eq(y->ahead, AHEAD_UNKNOWN);
    cr_assert_not(was_told(n, y, 10));
}

Test(mng_chain, nobody_behind_an_unheard_segment_is_told_a_place)
{
    struct mnode *n = made_node(&w, "a");
    struct mseg *x = made_sealed(&w, n, 100, 10), *y = made_sealed(&w, n, 100, 5);

    x->phase = SEG_STORED;
    lane_plan(w.m, w.l);
    cr_assert_eq(y->ahead, 100, "counted with all that it may hold");
    cr_assert_eq(y->ahead_sent, UINT64_MAX);
    seg_set_phase(x, SEG_REPORTED);
    lane_plan(w.m, w.l);
    cr_assert(was_told(n, y, 10));
}

Test(mng_chain, an_unreachable_tail_is_sealed_after_two_seconds)
{
    struct mnode *n = made_node(&w, "a");
    struct mseg *s = made_open(&w, n, 10, 10);

    made_node_down(&w, n, MADE_NOW - MNG_TAIL_AFTER_MS + 1);
    lane_plan(w.m, w.l);
    cr_assert_eq(s->state, SEG_OPEN);
    made_step(&w, MADE_NOW + 1);
    w.q->put_chain = false;
    lane_plan(w.m, w.l);
    cr_assert_eq(s->state, SEG_SEALED);
    cr_assert(s->want_seal && w.q->put_chain, "a later manager does not open it again");
}

Test(mng_chain, a_successor_is_opened_when_half_of_the_tail_is_taken)
{
    struct mnode *n = made_node(&w, "a");
    struct mseg *s = made_open(&w, n, 50, 50);

    w.q->def.state = DEF_OPEN;
    lane_plan(w.m, w.l);
    cr_assert_eq(w.l->segs.n, 1);
    s->st.joined = s->st.waiting = 51;
    lane_plan(w.m, w.l);
    cr_assert_eq(w.l->segs.n, 2);
    cr_assert_not_null(made_sent(&w, MSG_SEG_OPEN, NULL));
    cr_assert_eq(w.l->room, 49 + 100);
}

/* The segment at the end, which its node has opened now: the lane is planned anew. */
static struct mseg *opened_behind(void)
{
    struct mseg *s = list_seg(list_last(&w.l->segs));

    seg_set_phase(s, SEG_REPORTED);
    s->st.state = SEG_OPEN;
    lane_plan(w.m, w.l);
    return s;
}

static void node_says(struct mnode *n, bool no_room)
{
    struct msg_seg_status g = { .epoch = w.m->epoch, .max_tickets = 1000000, .no_room = no_room };

    on_seg_status(w.m, n, &g);
    lane_plan(w.m, w.l);
}

/* Joins were refused at it, while other nodes had room. */
Test(mng_chain, where_the_disk_has_no_room_nobody_is_to_join)
{
    struct mnode *n = made_node(&w, "a"), *other = made_node(&w, "b");
    struct mseg *s = made_open(&w, n, 10, 10), *next;

    w.q->def.state = DEF_OPEN;
    lane_plan(w.m, w.l);
    cr_assert_eq(w.l->segs.n, 1);
    node_says(n, true);
    cr_assert_eq(w.l->segs.n, 2);
    cr_expect_not(s->want_seal, "people may ask there as long as there is nothing behind it");
    next = opened_behind();
    cr_expect_eq(next->node, other);
    cr_expect(s->want_seal && s->want_next == next->id);
    cr_expect_eq(w.l->segs.n, 2);
}

Test(mng_chain, with_no_room_anywhere_the_tail_stays_until_there_is_some)
{
    struct mnode *n = made_node(&w, "a"), *other = made_node(&w, "b");
    struct mseg *s = made_open(&w, n, 10, 10);

    w.q->def.state = DEF_OPEN;
    node_says(other, true);
    node_says(n, true);
    cr_expect(w.l->segs.n == 1 && !s->want_seal);
    node_says(n, false);
    cr_expect(w.l->segs.n == 1 && !s->want_seal, "it has room itself");
    node_says(n, true);
    node_says(other, false);
    cr_expect_eq(w.l->segs.n, 2);
}

/* It is not emptied: what nobody misses stays there, or disks that run full in turn would cost segments. */
Test(mng_chain, where_the_disk_has_no_room_nothing_is_sealed_that_nobody_would_join)
{
    struct mnode *n = made_node(&w, "a"), *other = made_node(&w, "b");

    made_open(&w, other, 10, 10);
    made_open(&w, n, 0, 0);
    w.q->def.state = DEF_OPEN;
    for (int i = 0; i < 3; i++) {
        node_says(n, true);
        cr_expect_eq(w.l->segs.n, 2, "people join before it");
        node_says(n, false);
    }
    w.q->def.state = DEF_CLOSED;
    node_says(other, true);
    node_says(n, true);
    node_says(other, false);
    cr_expect_eq(w.l->segs.n, 2, "nobody joins");
    w.q->def.state = DEF_OPEN;
    lane_plan(w.m, w.l);
    cr_expect_eq(w.l->segs.n, 3);
}

static void node_holds(struct mnode *n, bool holds)
{
    struct msg_seg_status g = { .epoch = w.m->epoch, .max_tickets = 1000000, .holds = holds };

    on_seg_status(w.m, n, &g);
    lane_plan(w.m, w.l);
}

static void tick_after(msec_t ms)
{
    made_step(&w, w.m->now_ms + ms);
    nodes_tick(w.m);
    lane_plan(w.m, w.l);
}

/* It could not write down a seal: joins were refused until the disk worked, or the node was down. */
Test(mng_chain, where_the_journal_cannot_be_written_people_join_elsewhere)
{
    struct mnode *n = made_node(&w, "a"), *other = made_node(&w, "b");
    struct mseg *s = made_open(&w, n, 10, 10), *next;

    w.q->def.state = DEF_OPEN;
    node_holds(n, true);
    tick_after(MNG_TAIL_AFTER_MS - 1);
    cr_assert_eq(w.l->segs.n, 1, "a snapshot may cure it in a moment");
    tick_after(1);
    cr_assert_eq(w.l->segs.n, 2);
    next = opened_behind();
    cr_expect_eq(next->node, other);
    cr_expect(s->want_seal && s->want_next == next->id);
    cr_expect_eq(s->state, SEG_OPEN, "somebody may join when it can write, and has not heard");
    s->st.shut = true;
    w.q->put_chain = false;
    lane_plan(w.m, w.l);
    cr_expect(s->state == SEG_SEALED && w.q->put_chain, "a later manager does not open it again");
    cr_expect_eq(s->st.state, SEG_OPEN, "its people, and those behind, are counted as before");
    made_step(&w, w.m->now_ms + MNG_AGAIN_MS);
    seg_reconcile(w.m, s);
    cr_expect_null(made_sent(&w, MSG_SEG_SEAL, NULL), "thousands of them each second would tell it nothing new");
    s->st.shut = false;
    seg_reconcile(w.m, s);
    cr_expect_not_null(made_sent(&w, MSG_SEG_SEAL, NULL), "it was killed, and has forgotten");
    s->st.shut = true;
    node_holds(n, false);
    cr_expect(s->state == SEG_SEALED && s->want_seal, "it is told when it can write");
    cr_expect_eq(w.l->segs.n, 2);
}

Test(mng_chain, where_no_journal_can_be_written_the_tail_stays)
{
    struct mnode *n = made_node(&w, "a"), *other = made_node(&w, "b");
    struct mseg *s = made_open(&w, n, 10, 10);

    w.q->def.state = DEF_OPEN;
    node_holds(other, true);
    node_holds(n, true);
    tick_after(MNG_TAIL_AFTER_MS);
    cr_expect(w.l->segs.n == 1 && s->state == SEG_OPEN);
    node_holds(n, false);
    cr_expect(w.l->segs.n == 1 && s->state == SEG_OPEN, "it can itself");
    node_holds(n, true);
    node_holds(other, false);
    tick_after(MNG_TAIL_AFTER_MS);
    cr_expect_eq(w.l->segs.n, 2);
}

Test(mng_chain, those_inside_are_news_also_when_nobody_waits)
{
    struct mseg *s = made_sealed(&w, made_node(&w, "a"), 100, 0);

    lane_plan(w.m, w.l);
    w.q->stats_dirty = false;
    lane_plan(w.m, w.l);
    cr_expect_not(w.q->stats_dirty);
    s->st.active = 3;
    lane_plan(w.m, w.l);
    cr_expect(w.q->stats_dirty, "routers show it");
}

/* Those who come now stand behind all who came early. */
Test(mng_chain, a_tail_of_early_ones_takes_nobody_behind_the_opening)
{
    struct mnode *n = made_node(&w, "a");
    struct mseg *s = made_open(&w, n, 10, 10), *next;

    s->pre.early = true;
    w.q->def.state = DEF_OPEN;
    lane_plan(w.m, w.l);
    cr_assert_eq(w.l->segs.n, 2);
    next = opened_behind();
    cr_expect_not(next->pre.early);
    cr_expect(s->want_seal && s->want_next == next->id);
}

Test(mng_chain, an_absorbed_segment_is_found_where_its_people_are)
{
    struct mseg *s = made_sealed(&w, made_node(&w, "a"), 100, 10);

    cr_assert_eq(alias_add(w.l, (struct malias){ .from = s->id + 70, .to = s->id }), 0);
    cr_expect_eq(lane_of(w.m, s->id + 70), w.l);
    cr_expect_eq(seg_resolve(w.m, s->id + 70), s);
    cr_expect_null(seg_resolve(w.m, s->id + 71));
}

Test(mng_chain, a_closed_queue_opens_no_tail)
{
    made_node(&w, "a");
    lane_plan(w.m, w.l);
    cr_assert_eq(w.l->segs.n, 0);
}

Test(mng_chain, a_sealed_segment_is_told_its_successor_once_routers_know_that)
{
    struct mnode *n = made_node(&w, "a");
    struct mseg *x = made_sealed(&w, n, 100, 10), *y = made_open(&w, n, 0, 0);

    y->phase = SEG_OPENING;
    lane_plan(w.m, w.l);
    cr_assert_eq(x->want_next, 0);
    seg_set_phase(y, SEG_REPORTED);
    lane_plan(w.m, w.l);
    cr_assert_eq(x->want_next, y->id);
    cr_assert_eq(made_sent(&w, MSG_SEG_SEAL, NULL)->seg_seal.next, y->id);
}

Test(mng_chain, a_segment_is_removed_when_nobody_needs_it)
{
    struct mnode *n = made_node(&w, "a");
    struct mseg *s = made_sealed(&w, n, 100, 0);

    s->st.records = 1; /* somebody who was released */
    lane_plan(w.m, w.l);
    cr_assert_not(s->want_remove);
    s->st.records = 0;
    lane_plan(w.m, w.l);
    cr_assert(s->want_remove);
    cr_assert_not(made_sent(&w, MSG_SEG_REMOVE, NULL)->seg_remove.force);
}

Test(mng_chain, a_removal_is_taken_back_when_a_no_show_returns)
{
    struct mnode *n = made_node(&w, "a");
    struct mseg *s = made_sealed(&w, n, 100, 0);

    lane_plan(w.m, w.l);
    cr_assert(s->want_remove);
    s->st.returning = s->st.records = 1;
    lane_plan(w.m, w.l);
    cr_assert_not(s->want_remove);
}

Test(mng_chain, a_queue_is_full_at_max_waiting)
{
    struct mseg *s = made_sealed(&w, made_node(&w, "a"), 100, 9);

    w.q->def.max_waiting = 10;
    lane_plan(w.m, w.l);
    cr_assert_not(w.q->full);
    s->st.waiting = 10;
    lane_plan(w.m, w.l);
    cr_assert(w.q->full);
}

/* A segment that is lost later is told of no release of which neither says anything. */
Test(mng_chain, how_far_it_was_released_is_stored_before_its_rows_go)
{
    const msec_t month = 30ll * 86400 * 1000;
    struct mseg *s = made_sealed(&w, made_node(&w, "a"), 100, 90);
    struct mark_row r = { .seg = s->id, .from = 0, .end = 10, .at_ms = w.m->wall_ms };
    unsigned chain = 0, gone = 0;

    cr_assert(marks_grant(w.m, w.l, &r));
    marks_flush(w.m, w.l);
    w.q->put_marks = false;
    w.m->wall_ms += month;
    made_step(&w, MADE_NOW + month);
    marks_prune(w.m, w.l);
    for (unsigned i = 0; i < w.out.n; i++) {
        const struct mng_act *x = &w.out.act[i];

        if (x->kind == MNG_PUT && strncmp(x->key, "chain/", 6) == 0)
            chain = i + 1;
        if (x->kind == MNG_DEL && strncmp(x->key, "mark/", 5) == 0)
            gone = i + 1;
    }
    cr_expect(chain > 0 && chain < gone, "%u, %u", chain, gone);
}
