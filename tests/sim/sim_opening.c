/* sim_opening.c: a queue that opens by the clock, whose early ones draw lots, while whatever
 * takes part in it dies, is emptied or is lost. (The rules of the draw are looked at all the
 * time, from what is published alone: sim_opening.c of tests/lib.) */
#include "tests/lib/sim_test.h"

#define ME "sim_opening"

static struct sim_opts early(uint64_t seed)
{
    return (struct sim_opts){ .seed = sim_seed(seed), .segs = 3, .routers = 2,
                              .capacity = 30, .release_per_s = 10, .opens_ms = 15000,
                              .prequeue_ms = 10000, .prequeue_capacity = 25 };
}

/* Returns how many segments have drawn. */
static uint64_t play(struct sim_opts o)
{
    struct sim *s = sim_new(&o);
    uint64_t draws;

    sim_join(s, 0, 0, 150, 25000);
    sim_run(s, 30000);
    sim_heal(s, 50);
    sim_run(s, 9000);
    sim_check_positions(s);
    cr_expect(sim_run_until_quiet(s, 300000));
    draws = sim_count(s).draws;
    sim_finish(s, ME);
    return draws;
}

Test(opening, early_ones_draw_the_others_come_behind)
{
    cr_expect_geq(play(early(1)), 2);
}

Test(opening, nobody_may_come_early)
{
    struct sim_opts o = early(2);

    o.prequeue_ms = 0;
    cr_expect_eq(play(o), 0);
}

static void storm(struct sim_faults f, unsigned managers, msec_t lost_after_ms)
{
    uint64_t draws = 0;

    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sim_opts o = early(seed);

        o.faults = f;
        o.managers = managers;
        o.lost_after_ms = lost_after_ms;
        o.leave_share = 0.2;
        draws += play(o);
    }
    cr_expect_geq(draws, 20);
}

Test(opening, managers_die_at_the_opening)
{
    storm((struct sim_faults){ .mng_restart = 30 }, 1, 0);
}

Test(opening, another_manager_opens)
{
    storm((struct sim_faults){ .mng_restart = 15, .store_away = 6, .store_failover = 6 }, 3, 0);
}

Test(opening, nodes_die_before_and_after_the_draw)
{
    storm((struct sim_faults){ .seg_kill = 30, .link_break = 20, .pause = 10 }, 1, 0);
}

Test(opening, nodes_are_emptied)
{
    storm((struct sim_faults){ .drain = 30, .queue_pause = 5, .queue_put = 5 }, 1, 0);
}

Test(opening, what_is_lost_draws_when_its_people_are_back)
{
    storm((struct sim_faults){ .seg_lose = 8, .router_restart = 5 }, 1, 9000);
}
