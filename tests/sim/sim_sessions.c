/* sim_sessions.c: what routers know of passes (GET /v1/verify asks nobody): sessions that are
 * extended, given back and revoked while links break, nodes are emptied, die and come back.
 * Clocks leap, and passes are good. (The rules are looked at all the time, sim_sessions.c of tests/lib.) */
#include "tests/lib/sim/sim_test.h"

#define ME "sim_sessions"

static struct sim_opts sessions(uint64_t seed)
{
    return (struct sim_opts){ .seed = sim_seed(seed), .portion = sim_portion(seed), .segs = 3, .routers = 2,
                              .capacity = 20, .release_per_s = 5, .session_max_ms = 60000,
                              .pass_ttl_ms = 30000, .command_share = 0.5,
                              .session_leave_share = 1 };
}

static struct sim_counts play(struct sim_opts o, unsigned players)
{
    struct sim *s = sim_new(&o);
    struct sim_counts n;

    sim_join(s, 0, 0, players, 10000);
    sim_run(s, 40000);
    sim_heal(s, 50);
    cr_expect(sim_run_until_quiet(s, 300000));
    n = sim_count(s);
    sim_finish(s, ME);
    return n;
}

/* A router that was cut off from the node where somebody left, and hears of nothing but that
 * his segment was moved, has to learn it from the node that has the segment now. */
Test(sessions, connected_routers_know_every_revocation)
{
    uint64_t extended = 0, renewed = 0, used = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim_opts o = sessions(seed);
        struct sim_counts n;

        o.faults.link_cut = 40;
        o.faults.drain = 30;
        n = play(o, 60);
        extended += n.extended;
        renewed += n.renewed;
        used += n.used;
    }
    cr_expect_gt(extended, 200);
    cr_expect_gt(renewed, 80);
    cr_expect_gt(used, 80);
}

Test(sessions, sessions_survive_node_restarts)
{
    for (uint64_t seed = 30; seed <= 40; seed++) {
        struct sim_opts o = sessions(seed);

        o.faults.seg_kill = 20;
        o.faults.link_break = 20;
        (void)play(o, 60);
    }
}

/* Nodes lose everything: whose session was renewed has a pass that is good, and nobody knows of
 * it. He has a slot until it is over (I7 is looked at all the time); then it comes back. */
Test(sessions, renewed_ones_have_their_slots_when_their_node_is_lost)
{
    uint64_t renewed = 0;

    for (uint64_t seed = 70; seed <= 90; seed++) {
        struct sim_opts o = sessions(seed);
        struct sim_counts n;

        o.max_active = 4 + (uint32_t)seed % 5;
        o.slots_only = 1;
        o.pass_ttl_ms = 8000;
        o.claim_ms = 4000;
        o.grace_ms = 3000;
        o.session_max_ms = 300000;
        o.command_share = 0.9;
        o.lost_after_ms = 2000;
        o.faults.seg_lose = 4;
        o.faults.link_cut = 10;
        n = play(o, 60);
        renewed += n.renewed;
    }
    cr_expect_gt(renewed, 200);
}

/* The manager's leaps by an hour or a day, is believed at last, and is wrong again when it is
 * restarted; those of a router and a node leap meanwhile: FAULTS.md F19. */
Test(sessions, passes_are_good_whatever_clocks_say)
{
    static const int64_t hour = 3600000, offs[] = { hour, -hour, 24 * hour, -24 * hour };

    for (uint64_t seed = 100; seed < 116; seed++) {
        struct sim_opts o = sessions(seed);
        struct sim *s;

        o.command_share = 0;
        o.few_leaps = true;
        s = sim_new(&o);
        sim_join(s, 0, 0, 300, 100000);
        sim_run(s, 15000);
        sim_clock(s, SIM_MNG, 0, offs[seed % 4]);
        sim_run(s, 5000);
        sim_clock(s, SIM_ROUTER, 0, offs[seed / 4 % 4]);
        sim_clock(s, SIM_SEG, 1, offs[(seed + 1) % 4]);
        sim_run(s, 50000);
        sim_clock(s, SIM_MNG, 0, offs[(seed + 1) % 4]);
        sim_restart(s, SIM_MNG, 0, 1000);
        sim_run(s, 40000);
        sim_clock(s, SIM_ROUTER, 0, 0);
        cr_expect(sim_run_until_quiet(s, 300000));
        cr_expect_gt(sim_count(s).accepted, 5000);
        sim_finish(s, ME);
    }
}

/* An extended session keeps its slot as long. */
Test(sessions, extended_ones_keep_their_slots)
{
    for (uint64_t seed = 50; seed <= 60; seed++) {
        struct sim_opts o = sessions(seed);

        o.max_active = 5 + (uint32_t)seed % 7;
        o.slots_only = 1;
        o.faults.mng_restart = 6;
        o.faults.seg_kill = 6;
        o.faults.drain = 6;
        (void)play(o, 60);
    }
}
