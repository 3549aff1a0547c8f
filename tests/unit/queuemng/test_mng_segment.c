/* test_mng_segment.c: the steps of a segment's phase and health, and what follows from them. */
#include "tests/lib/mngmade.h"

#include <signal.h>

Test(mng_segment, every_step_of_a_life_is_allowed)
{
    struct mseg s = { 0 };

    seg_set_phase(&s, SEG_REPORTED);
    seg_set_health(&s, SEG_GONE);
    seg_set_health(&s, SEG_WHOLE); /* back after all */
    seg_set_health(&s, SEG_GONE);
    seg_set_health(&s, SEG_REBUILDING);
    seg_set_phase(&s, SEG_OPENING); /* elsewhere */
    seg_set_health(&s, SEG_GONE_AGAIN);
    seg_set_health(&s, SEG_REBUILDING);
    seg_set_phase(&s, SEG_REPORTED);
    seg_set_health(&s, SEG_WHOLE);
    cr_assert(seg_is_reported(&s) && !seg_is_recovering(&s));
}

Test(mng_segment, a_reported_one_is_not_stored_again, .signal = SIGABRT)
{
    struct mseg s = { .phase = SEG_REPORTED };

    seg_set_phase(&s, SEG_STORED);
}

Test(mng_segment, one_that_was_never_opened_cannot_be_gone, .signal = SIGABRT)
{
    struct mseg s = { .phase = SEG_OPENING };

    seg_set_health(&s, SEG_GONE);
}

Test(mng_segment, one_that_is_gone_again_is_not_whole_at_once, .signal = SIGABRT)
{
    struct mseg s = { .phase = SEG_REPORTED, .health = SEG_GONE_AGAIN };

    seg_set_health(&s, SEG_WHOLE);
}

Test(mng_segment, lost_and_rebuilding_are_told_apart)
{
    struct mseg s = { .phase = SEG_REPORTED, .health = SEG_GONE_AGAIN };

    cr_assert(seg_is_lost(&s) && seg_is_rebuilding(&s));
    s.health = SEG_GONE;
    cr_assert(seg_is_lost(&s) && !seg_is_rebuilding(&s));
    s.health = SEG_REBUILDING;
    cr_assert(!seg_is_lost(&s) && seg_is_rebuilding(&s) && seg_is_recovering(&s));
}

Test(mng_segment, bound_is_the_capacity_until_it_is_certain)
{
    struct mseg s = { .phase = SEG_STORED, .capacity = 100, .state = SEG_SEALED };

    s.st.state = SEG_SEALED;
    s.st.waiting = 7;
    cr_assert_eq(seg_bound(&s), 100, "of the store: it may hold so many");
    seg_set_phase(&s, SEG_REPORTED);
    cr_assert_eq(seg_bound(&s), 7);
    s.missing_source = true;
    cr_assert_eq(seg_bound(&s), 100, "a source of it is missing");
    s.missing_source = false;
    s.st.state = SEG_OPEN;
    s.st.joined = 40;
    cr_assert_eq(seg_bound(&s), 67, "7 wait, 60 may yet join");
}

Test(mng_segment, only_a_sealed_reported_empty_one_is_dry)
{
    struct mseg s = { .phase = SEG_REPORTED };

    s.st.state = SEG_SEALED;
    cr_assert(seg_dry(&s));
    s.st.returning = 1;
    cr_assert_not(seg_dry(&s));
    s.st.returning = 0;
    s.st.move = 5; /* of an earlier manager: it may hold more than it says */
    cr_assert_not(seg_dry(&s));
    s.st.move = 0;
    s.phase = SEG_STORED;
    cr_assert_not(seg_dry(&s));
    s.phase = SEG_REPORTED;
    s.st.state = SEG_OPEN;
    cr_assert_not(seg_dry(&s));
    s.st.shut = true;
    cr_assert_not(seg_dry(&s), "the map calls it open yet");
    s.state = SEG_SEALED;
    cr_assert(seg_dry(&s), "its node cannot write, and takes no join before it seals it");
    s.st.waiting = 1;
    cr_assert_not(seg_dry(&s));
}

Test(mng_segment, a_report_that_comes_after_the_loss_counts_for_nothing)
{
    struct made w;
    struct mseg *s;
    struct seg_status st = { .state = SEG_SEALED, .waiting = 50 };

    made_new(&w, "\"merge\": false");
    s = made_sealed(&w, made_node(&w, "a"), 100, 20);
    st.seg = s->id;
    seg_lost(w.m, s);
    seg_status(w.m, s, &st);
    cr_assert_eq(s->st.waiting, 20);
    cr_assert(seg_is_lost(s));
    seg_lost(w.m, s);
    cr_assert_eq(w.m->count.lost_segments, 1, "lost once, however often it is found");
    made_free(&w);
}
