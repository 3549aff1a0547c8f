/* test_mng_place.c: which node gets a segment. */
#include "tests/lib/mngmade.h"

#include "queuemng/state/node.h"

MADE_SUITE(mng_place, "\"merge\": false", );

static const struct mnode *pick(const struct mseg *near)
{
    return place_pick(w.m, near, NULL, 0);
}

Test(mng_place, the_emptiest_node_by_memory)
{
    a->tickets = 20000; /* 2 percent */
    b->tickets = 10000;
    cr_assert_eq(pick(NULL), b);
    a->used = 0;
    b->used = 500;
    cr_assert_eq(pick(NULL), b, "a percent counts more than any number of segments");
}

Test(mng_place, of_equal_ones_the_one_with_fewest_segments)
{
    a->used = 3;
    b->used = 2;
    cr_assert_eq(pick(NULL), b);
    a->tickets = 9999; /* less than a percent */
    b->used = 4;
    cr_assert_eq(pick(NULL), a);
}

Test(mng_place, not_beside_its_neighbour_unless_others_are_clearly_fuller)
{
    struct mseg *near = made_sealed(&w, a, 10, 10);

    b->tickets = 40000; /* 4 percent more */
    cr_assert_eq(pick(near), b);
    b->tickets = 60000;
    cr_assert_eq(pick(near), a);
}

Test(mng_place, in_the_region_where_most_people_join_unless_it_is_clearly_fuller)
{
    where_set(&a->where, "eu", NULL);
    where_set(&b->where, "us", NULL);
    a->tickets = 200000; /* 20 percent */
    cr_assert_eq(pick(NULL), b);
    strcpy(w.m->region.region, "eu");
    cr_assert_eq(pick(NULL), a);
    a->tickets = 260000;
    cr_assert_eq(pick(NULL), b);
    a->tickets = 0;
    a->registered = false;
    cr_assert_eq(pick(NULL), b, "it is gone");
}

Test(mng_place, no_node_that_cannot_take_it)
{
    a->tickets = 500000;
    b->draining = true;
    cr_assert_eq(pick(NULL), a);
    b->draining = false;
    b->no_room = true;
    cr_assert_eq(pick(NULL), a);
    b->no_room = false;
    b->refused_ms = 1;
    cr_assert_eq(pick(NULL), a);
    b->refused_ms = 0;
    b->registered = false;
    cr_assert_eq(pick(NULL), a);
    b->registered = true;
    b->max_segments = b->used;
    cr_assert_eq(pick(NULL), a);
}

Test(mng_place, nowhere_when_all_are_nearly_full)
{
    a->tickets = b->tickets = 970000;
    cr_assert_null(pick(NULL));
    b->tickets--;
    cr_assert_eq(pick(NULL), b);
}

Test(mng_place, not_where_it_comes_from)
{
    b->tickets = 900000;
    cr_assert_eq(place_pick(w.m, NULL, a, 0), b);
}

Test(mng_place, a_pre_queue_only_where_the_clock_is_not_past_the_opening)
{
    b->tickets = 900000;
    a->past_opening_ms = 5000;
    cr_assert_eq(place_pick(w.m, NULL, NULL, 5000), b);
    cr_assert_eq(place_pick(w.m, NULL, NULL, 5001), a);
}
