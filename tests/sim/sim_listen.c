/* sim_listen.c: players listen in place of polling, while links, nodes and routers fail. Looked at at
 * each event: what is looked at at each answer to a poll (I4: no place grows, also of who listens
 * at one router and then polls at another), and
 *   nobody who listens times out
 *   who is let in is told at once: on a calm day within a tick and what the network takes */
#include "tests/lib/sim/faulty_day.h"

#define ME      "sim_listen"
#define SEEDS   6
#define LATE_MS 150

static struct sim_opts crowd(uint64_t seed)
{
    return (struct sim_opts) { .seed = sim_seed(seed), .portion = sim_portion(seed), .segs = 3, .routers = 3, .capacity = 40,
                               .release_per_s = 3, .leave_share = 0.2, .vanish_share = 0.05,
                               .poll_min_ms = 400, .poll_max_ms = 1500, .listen_share = 0.8 };
}

static struct sim_counts play(struct sim_opts o, day_fault *fault)
{
    return faulty_day(o, fault, ME);
}

static void each(day_fault *fault)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        cr_expect_gt(play(crowd(seed), fault).let_in_told, 40);
}

Test(listen, a_release_is_told_within_a_tick)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_counts n = play(crowd(seed), NULL);

        cr_expect_gt(n.let_in_told, 60);
        cr_expect_leq(n.told_late_ms, LATE_MS, "%u ms", (unsigned)n.told_late_ms);
    }
}

Test(listen, without_the_replica_it_is_told_at_the_told_pace)
{
    struct sim_opts o = crowd(1);

    o.fresh_ms = -1;
    cr_expect_gt(play(o, NULL).let_in_told, 40);
}

Test(listen, links_are_cut)
{
    each(cut_a_router_from_a_node);
}

static void stop_router(struct sim *s, unsigned i)
{
    sim_pause(s, SIM_ROUTER, i % 3, 300 + 100 * i);
}

Test(listen, routers_are_stopped)
{
    each(stop_router);
}

static void restart_router(struct sim *s, unsigned i)
{
    sim_restart(s, SIM_ROUTER, i % 3, 200 + 300 * i);
}

Test(listen, routers_restart)
{
    each(restart_router);
}

Test(listen, segment_nodes_restart)
{
    each(restart_a_node);
}

/* Three regions; the line is in the manager's. Who listens far from it is told of
 * a release in one way's time and two ticks, also who has just come. */
#define OCEAN_MS 150

static struct sim_opts far_crowd(uint64_t seed)
{
    struct sim_opts o = crowd(seed);

    o.segs = 1;
    o.portion = 0; /* several are let in with a push */
    o.ocean_ms = OCEAN_MS;
    o.capacity = 400;
    o.poll_min_ms = 1000;
    return o;
}

Test(listen, over_an_ocean_a_release_is_told_in_one_way)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_counts n = play(far_crowd(seed), NULL);

        cr_expect_gt(n.let_in_told, 60);
        cr_expect_gt(n.let_in_unasked, 50, "%u", (unsigned)n.let_in_unasked);
        cr_expect_eq(n.told_late, 0, "%u ms", (unsigned)n.told_late_ms);
    }
}

static void break_something(struct sim *s, unsigned i)
{
    if (i % 3 == 0)
        cut_a_router_from_a_node(s, i);
    else if (i % 3 == 1)
        restart_a_node(s, i);
    else
        restart_router(s, i);
}

Test(listen, over_an_ocean_things_break)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_opts o = crowd(seed);

        o.ocean_ms = OCEAN_MS;
        o.poll_min_ms = 1000;
        cr_expect_gt(play(o, break_something).let_in_unasked, 20);
    }
}
