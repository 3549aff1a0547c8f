/* sim_slots.c: by slots: exactly max_active while anybody waits, however they go, and
 * whatever is lost. (Never more: looked at after every pop, sim_slots.c of tests/lib.) */
#include "tests/lib/sim/sim_test.h"

#define ME "sim_slots"

static struct sim_opts slots(uint64_t seed, uint32_t max_active)
{
    return (struct sim_opts){ .seed = sim_seed(seed), .portion = sim_portion(seed), .segs = 3, .routers = 2,
                              .capacity = 20, .max_active = max_active, .slots_only = 1,
                              .claim_ms = 4000, .grace_ms = 3000, .pass_ttl_ms = 15000,
                              .session_leave_share = 0.5 };
}

/* Passes that run out, sessions that end, people who never come: none of it keeps a slot. */
Test(slots, everybody_comes_in_and_never_more_than_max_active)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sim_opts o = slots(seed, 1 + 3 * (uint32_t)seed);
        struct sim *s;

        o.vanish_share = 0.2;
        o.leave_share = 0.1;
        s = sim_new(&o);
        sim_join(s, 0, 0, 40 + 10 * (unsigned)seed, 3000);
        cr_expect(sim_run_until_quiet(s, 900000));
        cr_expect_eq(sim_count(s).inside_max, o.max_active);
        sim_finish(s, ME);
    }
}

static bool is_full(struct sim *s)
{
    return sim_inside(s, 0) >= 5;
}

Test(slots, lowered_throws_nobody_out_and_lets_nobody_in_until_below)
{
    struct sim_opts o = slots(3, 20);
    struct sim *s;
    uint64_t before;

    o.pass_ttl_ms = 60000;
    s = sim_new(&o);
    sim_join(s, 0, 0, 150, 2000);
    sim_run(s, 6000);
    sim_max_active(s, 0, 5);
    sim_run(s, 1000);
    before = sim_count(s).released;
    cr_expect_gt(sim_inside(s, 0), 5);
    while (sim_ok(s) && sim_count(s).released == before && sim_now(s) < 200000)
        sim_run(s, 50);
    cr_expect_gt(sim_count(s).released, before);
    cr_expect_leq(sim_inside(s, 0), 5);
    cr_expect(sim_run_until(s, is_full, 5000), "slots are free and stay so");
    sim_finish(s, ME);
}

/* The manager, then each node, die again and again: slots come back all the same. */
Test(slots, slots_return_after_any_crash)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct sim_opts o = slots(seed, 10);
        struct sim *s;

        o.managers = seed % 3 == 0 ? 2 : 1;
        o.faults = (struct sim_faults){ .mng_restart = 6, .seg_kill = 10, .link_break = 10 };
        s = sim_new(&o);
        sim_join(s, 0, 0, 60, 5000);
        sim_run(s, 60000);
        sim_heal(s, 0);
        cr_expect(sim_run_until_quiet(s, 120000));
        cr_expect_leq(sim_count(s).inside_max, 230);
        sim_finish(s, ME);
    }
}

/* A grant that its head could not give goes on to the next segments: not when the queue was
 * paused, or max_active lowered, while the head did not answer. */
static void grant_meets(bool pause)
{
    struct sim_opts o = slots(4, 1);
    struct sim *s;

    o.capacity = 10;
    s = sim_new(&o);
    sim_join(s, 0, 0, 60, 1000);
    sim_run(s, 4000);
    for (unsigned i = 0; i < o.segs; i++)
        sim_pause(s, SIM_SEG, i, 2500);
    sim_max_active(s, 0, 40); /* its pop is on its way to somebody who does not answer */
    sim_run(s, 1500);
    if (pause)
        sim_order(s, 0, MNG_PAUSE);
    else
        sim_max_active(s, 0, 5);
    sim_run(s, 5000);
    cr_expect_leq(sim_inside(s, 0), 10);
    sim_heal(s, 10);
    cr_expect(sim_run_until_quiet(s, 300000));
    sim_finish(s, ME);
}

Test(slots, the_rest_of_a_grant_is_not_given_after_a_pause)
{
    grant_meets(true);
}

Test(slots, the_rest_of_a_grant_is_not_given_above_a_lower_max_active)
{
    grant_meets(false);
}
