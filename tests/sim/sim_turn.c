/* sim_turn.c: people who are told that they are let in (I14), while links break, nodes are killed and
 * emptied, segments merge, and routers have no task node or end amid it. */
#include "tests/lib/sim/sim_test.h"

#define ME "sim_turn"

static struct sim_opts world(uint64_t seed)
{
    return (struct sim_opts){ .seed = sim_seed(seed), .portion = sim_portion(seed), .segs = 3, .routers = 2, .capacity = 20,
                              .release_per_s = 5, .contact_share = 0.4, .leave_share = 0.1,
                              .vanish_share = 0.1 };
}

static struct sim_counts play(struct sim_opts o)
{
    struct sim *s = sim_new(&o);
    struct sim_counts n;

    sim_join(s, 0, 0, 150, 10000);
    sim_run(s, 40000);
    sim_heal(s, 50);
    cr_expect(sim_run_until_quiet(s, 300000));
    n = sim_count(s);
    sim_finish(s, ME);
    return n;
}

Test(turn, each_is_told_on_a_calm_day)
{
    uint64_t told = 0, again = 0, soon = 0;

    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sim_opts o = world(seed);
        struct sim_counts n;

        o.soon_ms = 5000;
        n = play(o);
        soon += n.soons;

        told += n.turns;
        again += n.turns_again;
    }
    cr_expect_gt(told, 400);
    cr_expect_gt(soon, 200);
    cr_expect_gt(again, 20); /* answers that were lost */
}

Test(turn, kills_and_cuts_lose_nobody)
{
    uint64_t told = 0;

    for (uint64_t seed = 20; seed <= 50; seed++) {
        struct sim_opts o = world(seed);

        o.faults.seg_kill = 20;
        o.faults.link_break = 20;
        o.faults.link_cut = 10;
        o.faults.router_restart = 6;
        o.late_share = 0.3;
        o.soon_ms = 4000;
        told += play(o).turns;
    }
    cr_expect_gt(told, 1000);
}

Test(turn, moves_carry_them)
{
    uint64_t told = 0;

    for (uint64_t seed = 60; seed <= 90; seed++) {
        struct sim_opts o = world(seed);

        o.faults.drain = 30;
        o.faults.seg_kill = 6;
        o.leave_share = 0.5; /* so that segments merge */
        told += play(o).turns;
    }
    cr_expect_gt(told, 600);
}

/* Those who came before an opening are drawn: each contact goes with its ticket. */
Test(turn, a_draw_mixes_up_nobody)
{
    uint64_t told = 0, draws = 0;

    for (uint64_t seed = 140; seed <= 155; seed++) {
        struct sim_opts o = world(seed);
        struct sim_counts n;

        o.opens_ms = 15000;
        o.prequeue_ms = 15000;
        o.faults.seg_kill = 10;
        o.faults.drain = 10;
        n = play(o);
        told += n.turns;
        draws += n.draws;
    }
    cr_expect_gt(told, 300);
    cr_expect_gt(draws, 15);
}

/* Lost nodes lose contacts, and no release that was told is undone. */
Test(turn, what_was_told_is_so)
{
    for (uint64_t seed = 100; seed <= 130; seed++) {
        struct sim_opts o = world(seed);

        o.lost_after_ms = 2000;
        o.faults.seg_lose = 6;
        o.faults.mng_restart = 6;
        (void)play(o);
    }
}
