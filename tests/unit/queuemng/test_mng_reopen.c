/* test_mng_reopen.c: lost segments are opened elsewhere, or found again. */
#include "tests/lib/mngmade.h"

#include "queuemng/chain/lifecycle.h"
#include "queuemng/chain/move_state.h"
#include "queuemng/state/segment.h"

static struct mseg *x;
MADE_SUITE(mng_reopen, "\"merge\": false",
           x = made_sealed(&w, a, 100, 10); made_node_down(&w, a, 0));

static void rebuild(void)
{
    w.l->has_lost = true;
    lane_rebuild(w.m, w.l);
}

static void merged_into_x(seg_id from, uint32_t capacity)
{
    cr_assert_eq(alias_add(w.l, (struct malias){ .from = from, .to = x->id,
                                                 .capacity = capacity, .mark_end = 3 }), 0);
}

Test(mng_reopen, a_lost_segment_is_opened_under_its_id_on_another_node)
{
    seg_id id = x->id;
    const struct msg *g;
    peer_no to;

    x->mark_end = 42;
    seg_lost(w.m, x);
    rebuild();
    cr_assert(x->node == b && x->id == id && x->kind == OPEN_REBUILD);
    cr_assert(x->phase == SEG_OPENING && x->health == SEG_REBUILDING);
    g = made_sent(&w, MSG_SEG_OPEN, &to);
    cr_assert(to == b->peer && g->seg_open.mark_end == 42);
    cr_assert_eq(x->was_waiting, 10);
}

Test(mng_reopen, it_waits_for_a_node_with_room)
{
    b->draining = true;
    seg_lost(w.m, x);
    rebuild();
    cr_assert(x->health == SEG_GONE && x->node == a);
}

Test(mng_reopen, it_waits_for_the_end_of_its_move)
{
    struct mmove v = { .from = x };

    seg_lost(w.m, x);
    x->move = &v;
    rebuild();
    cr_assert_eq(x->health, SEG_GONE);
    x->move = NULL;
    rebuild();
    cr_assert_eq(x->health, SEG_REBUILDING);
}

Test(mng_reopen, what_it_had_absorbed_stands_behind_it_in_the_order_of_its_line)
{
    const struct mseg *y, *z;

    merged_into_x(201, 50);
    merged_into_x(202, 60);
    seg_lost(w.m, x);
    rebuild();
    cr_assert_eq(w.l->n_alias, 0);
    y = list_entry(list_next(&w.l->segs, &x->in_lane), struct mseg, in_lane);
    z = list_entry(list_next(&w.l->segs, &y->in_lane), struct mseg, in_lane);
    cr_assert(y->id == 201 && z->id == 202);
    cr_assert(y->capacity == 50 && y->mark_end == 3 && y->health == SEG_REBUILDING);
}

Test(mng_reopen, a_target_without_numbers_of_its_own_is_not_opened_again)
{
    seg_id id = x->id;

    x->kind = OPEN_TARGET;
    merged_into_x(201, 50);
    seg_lost(w.m, x);
    rebuild();
    cr_assert_null(seg_find(w.m, id));
    cr_assert_not_null(seg_find(w.m, 201));
}

Test(mng_reopen, a_node_that_is_back_in_time_keeps_it)
{
    struct seg_status st = { .seg = x->id };

    seg_lost(w.m, x);
    cr_assert(seg_take_back(w.m, x, &st, true));
    cr_assert_eq(x->health, SEG_WHOLE);
}

Test(mng_reopen, a_copy_with_an_undone_merge_is_not_taken_back)
{
    const seg_id with = 201;
    struct seg_status st = { .seg = x->id, .n_absorbed = 1, .absorbed = &with };

    seg_lost(w.m, x);
    cr_assert_not(seg_take_back(w.m, x, &st, true));
    cr_assert(seg_is_lost(x));
}

Test(mng_reopen, one_that_is_lost_again_still_awaits_all_of_its_people)
{
    seg_lost(w.m, x);
    rebuild();
    seg_set_phase(x, SEG_REPORTED);
    x->st.waiting = 4; /* so many are back */
    seg_lost(w.m, x);
    cr_assert(x->health == SEG_GONE_AGAIN && x->was_waiting == 10);
}

Test(mng_reopen, only_unconfirmed_sources_are_given_up)
{
    merged_into_x(201, 50);
    merged_into_x(202, 60);
    seg_add_absorbed(w.m, x, 201);
    cr_assert(x->missing_source);
    seg_unmerge(w.m, x, true);
    cr_assert_eq(alias_of(w.l, 201), x->id);
    cr_assert(alias_of(w.l, 202) == 0 && seg_find(w.m, 202) != NULL);
    cr_assert_not(x->missing_source);
}
