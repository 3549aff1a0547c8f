/* sim_release.c: what the rate allows, no more; who does not come; who comes back. */
#include "tests/lib/sim/sim_test.h"

#define ME "sim_release"

Test(release, keeps_the_rate)
{
    struct sim *s = sim_new(&(struct sim_opts){ .seed = sim_seed(1), .segs = 2,
                                                .capacity = 50, .release_per_s = 4 });

    sim_join(s, 0, 0, 200, 2000);
    sim_run(s, 30000);
    cr_expect_leq(sim_count(s).released, 4 * 30 + 2);
    cr_expect_geq(sim_count(s).released, 4 * 28);
    cr_expect(sim_run_until_quiet(s, 60000));
    cr_expect_eq(sim_count(s).released, 200);
    sim_finish(s, ME);
}

Test(release, a_fraction_of_a_ticket_per_tick_is_exact)
{
    struct sim *s = sim_new(&(struct sim_opts){ .seed = sim_seed(1), .segs = 1,
                                                .capacity = 500, .release_per_s = 0.7 });

    sim_join(s, 0, 0, 100, 1000);
    sim_run(s, 101000);
    cr_expect_geq(sim_count(s).released, 68);
    cr_expect_leq(sim_count(s).released, 71);
    sim_heal(s, 50);
    cr_expect(sim_run_until_quiet(s, 60000));
    sim_finish(s, ME);
}

Test(release, paused_releases_nobody_and_by_hand_exactly_n)
{
    struct sim *s = sim_new(&(struct sim_opts){ .seed = sim_seed(9), .segs = 2,
                                                .capacity = 30, .release_per_s = 10 });
    uint64_t before;

    sim_order(s, 0, MNG_PAUSE);
    sim_join(s, 0, 0, 100, 2000);
    sim_run(s, 6000);
    cr_expect_eq(sim_count(s).released, 0);
    sim_release(s, 0, 17);
    sim_run(s, 3000);
    before = sim_count(s).released;
    cr_expect_eq(before, 17);
    sim_order(s, 0, MNG_RESUME);
    cr_expect(sim_run_until_quiet(s, 60000));
    sim_finish(s, ME);
}

Test(release, late_and_lost_people)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim *s = sim_new(&(struct sim_opts){ .seed = sim_seed(seed), .portion = sim_portion(seed), .segs = 2,
                                                    .routers = 2, .capacity = 30,
                                                    .release_per_s = 5,
                                                    .idle_ms = 20000, .claim_ms = 5000,
                                                    .grace_ms = 8000, .leave_share = 0.1,
                                                    .vanish_share = 0.3, .late_share = 0.3,
                                                    .session_leave_share = 0.3 });

        sim_join(s, 0, 0, 200, 10000);
        cr_expect(sim_run_until_quiet(s, 180000));
        sim_finish(s, ME);
    }
}

static uint64_t released_in(struct sim *s, msec_t ms)
{
    uint64_t before = sim_count(s).released;

    sim_run(s, ms);
    return sim_count(s).released - before;
}

/* The first segments are at a node that the manager does not reach: after a bounded wait
 * those behind go first; when it is back, everybody is let in all the same. */
Test(release, an_unreachable_head_is_skipped_after_a_bounded_wait)
{
    struct sim *s = sim_new(&(struct sim_opts){ .seed = sim_seed(5), .segs = 2,
                                                .capacity = 20, .release_per_s = 2,
                                                .idle_ms = 120000, .claim_ms = 30000,
                                                .skip_after_ms = 5000 });

    sim_order(s, 0, MNG_PAUSE);
    sim_join(s, 0, 0, 100, 2000);
    sim_run(s, 5000);
    sim_order(s, 0, MNG_RESUME);
    sim_cut(s, SIM_MNG, 0, SIM_SEG, 0, 25000);
    sim_cut(s, SIM_MNG, 0, SIM_SEG, 1, 10);
    (void)released_in(s, 12000);
    cr_expect_geq(released_in(s, 8000), 14);
    cr_expect(sim_run_until_quiet(s, 90000));
    cr_expect_eq(sim_count(s).admitted, 100);
    sim_finish(s, ME);
}

/* What a head that does not answer was to give while everybody was let in. */
Test(release, passthrough_leaves_no_credit)
{
    struct sim *s = sim_new(&(struct sim_opts){ .seed = sim_seed(11), .segs = 2,
                                                .capacity = 10, .release_per_s = 1 });
    uint64_t before;

    sim_join(s, 0, 0, 100, 1000);
    sim_run(s, 3000);
    for (unsigned i = 0; i < 2; i++)
        sim_pause(s, SIM_SEG, i, 2500);
    sim_order(s, 0, MNG_PASSTHROUGH);
    sim_run(s, 500);
    sim_order(s, 0, MNG_OPEN);
    before = sim_count(s).released;
    sim_run(s, 5000);
    cr_expect_leq(sim_count(s).released, before + 10 + 8);
    sim_heal(s, 50);
    cr_expect(sim_run_until_quiet(s, 100000));
    sim_finish(s, ME);
}
