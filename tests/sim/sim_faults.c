/* sim_faults.c: links, pauses, restarts: each kind by itself, often. What holds without
 * faults must hold with them. */
#include "tests/lib/sim/sim_test.h"

#define ME    "sim_faults"
#define SEEDS 12
#define FEW   6
#define MANY  100 /* two processes that die within milliseconds of each other */

static void storms(struct sim_faults f, bool lossy, unsigned seeds)
{
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct sim *s = sim_new(&(struct sim_opts){
            .seed = sim_seed(seed), .portion = sim_portion(seed), .segs = 3, .routers = 2, .capacity = 30,
            .release_per_s = 3, .leave_share = 0.3, .vanish_share = 0.1, .late_share = lossy ? 0 : 0.1,
            .lost_after_ms = lossy ? 10000 : 0, .faults = f });

        sim_join(s, 0, 0, 200, 30000);
        sim_run(s, 60000);
        sim_heal(s, 50);
        sim_run(s, 8000);
        sim_check_positions(s);
        cr_expect(sim_run_until_quiet(s, 150000));
        sim_finish(s, ME);
    }
}

static void storm(struct sim_faults f, bool lossy)
{
    storms(f, lossy, SEEDS);
}

Test(faults, links_break)
{
    storm((struct sim_faults){ .link_break = 60 }, false);
}

Test(faults, links_are_cut)
{
    storm((struct sim_faults){ .link_cut = 15 }, false);
}

Test(faults, links_are_slow)
{
    storm((struct sim_faults){ .slow_link = 30 }, false);
}

Test(faults, processes_are_stopped)
{
    storm((struct sim_faults){ .pause = 30 }, false);
}

Test(faults, routers_restart)
{
    storm((struct sim_faults){ .router_restart = 20 }, false);
}

Test(faults, links_are_mute_in_one_direction)
{
    storms((struct sim_faults){ .link_oneway = 20, .drain = 6 }, false, FEW);
}

Test(faults, processes_are_slow)
{
    storms((struct sim_faults){ .slow_proc = 12, .drain = 6 }, false, FEW);
}

Test(faults, restarts_come_in_storms)
{
    storms((struct sim_faults){ .storm = 8, .drain = 6 }, false, FEW);
}

Test(faults, all_routers_are_gone_for_a_while)
{
    storms((struct sim_faults){ .routers_gone = 12, .drain = 6, .seg_kill = 4 }, false, FEW);
}

Test(faults, disks_are_full_or_slow)
{
    storms((struct sim_faults){ .disk_full = 12, .disk_slow = 12, .drain = 6 }, false, FEW);
}

/* What the turn that could not be written had changed is gone, and nothing changes after it:
 * so a kill takes nothing that somebody was told. */
Test(faults, nodes_are_killed_while_their_disks_are_full)
{
    storms((struct sim_faults){ .disk_full = 30, .seg_kill = 30, .drain = 12 }, false, MANY);
}

Test(faults, definitions_change_in_flight)
{
    storms((struct sim_faults){ .queue_passthrough = 3, .queue_reject = 4, .queue_patch = 12,
                                .mng_restart = 4 },
           false, FEW);
}

Test(faults, the_manager_restarts)
{
    storm((struct sim_faults){ .mng_restart = 10 }, false);
}

Test(faults, the_manager_restarts_amid_moves)
{
    storm((struct sim_faults){ .mng_restart = 10, .drain = 12, .link_break = 10 }, false);
}

/* Nobody is gone before the time, no burst, positions calm: FAULTS.md F19. */
Test(faults, clocks_leap)
{
    storm((struct sim_faults){ .clock_jump = 40 }, false);
}

Test(faults, clocks_leap_amid_moves_and_restarts)
{
    storm((struct sim_faults){ .clock_jump = 40, .drain = 12, .seg_kill = 10,
                               .mng_restart = 6 },
          false);
}

Test(faults, operators_do_everything)
{
    storm((struct sim_faults){ .drain = 6, .queue_pause = 6, .queue_close = 4,
                               .queue_put = 8, .release_by_hand = 12, .add_node = 2 },
          false);
}

Test(faults, a_manager_killed_and_gone_for_a_while)
{
    struct sim *s = sim_new(&(struct sim_opts){ .seed = sim_seed(4), .segs = 2, .routers = 2,
                                                .capacity = 50, .release_per_s = 5 });

    sim_join(s, 0, 0, 100, 20000);
    sim_run(s, 5000);
    sim_restart(s, SIM_MNG, 0, 20000);
    sim_run(s, 25000);
    cr_expect(sim_run_until_quiet(s, 90000));
    sim_finish(s, ME);
}

/* With one, nobody notices but by waiting. */
Test(faults, segment_nodes_are_killed)
{
    storm((struct sim_faults){ .seg_kill = 12 }, false);
}

Test(faults, segment_nodes_are_killed_amid_moves)
{
    storms((struct sim_faults){ .seg_kill = 15, .drain = 20, .slow_link = 30 }, false, MANY);
}

Test(faults, everybody_is_killed_amid_moves)
{
    storms((struct sim_faults){ .seg_kill = 40, .drain = 40, .mng_restart = 30,
                                .link_break = 10, .router_restart = 4 },
           false, MANY);
}

/* Without one their people bring everything back: sim_crowd.c has more of it. */
Test(faults, segment_nodes_lose_everything)
{
    storm((struct sim_faults){ .seg_lose = 3, .link_break = 10 }, true);
}
