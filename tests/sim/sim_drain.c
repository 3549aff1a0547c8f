/* sim_drain.c: a node is emptied for maintenance while people wait in it. */
#include "tests/lib/sim/sim_test.h"

#define ME "sim_drain"

static bool node0_empty(struct sim *s)
{
    return sim_node_tickets(s, 0) == 0;
}

Test(drain, a_drained_node_ends_empty_and_nobody_loses_a_place)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sim *s = sim_new(&(struct sim_opts){ .seed = sim_seed(seed), .portion = sim_portion(seed), .segs = 3,
                                                    .routers = 2, .capacity = 40,
                                                    .release_per_s = 0.5 });

        sim_join(s, 0, 0, 200, 10000);
        sim_run(s, 6000);
        sim_drain(s, 0, true);
        cr_expect(sim_run_until(s, node0_empty, 60000), "seed %lu: %lu left", seed,
                  sim_node_tickets(s, 0));
        sim_run(s, 5000);
        cr_expect_eq(sim_node_tickets(s, 0), 0, "nobody is put there again");
        sim_check_positions(s);
        sim_heal(s, 50);
        cr_expect(sim_run_until_quiet(s, 60000));
        sim_finish(s, ME);
    }
}

Test(drain, one_node_after_the_other)
{
    struct sim *s = sim_new(&(struct sim_opts){ .seed = sim_seed(2), .segs = 3, .routers = 2,
                                                .capacity = 25, .release_per_s = 1,
                                                .leave_share = 0.2 });

    sim_join(s, 0, 0, 200, 20000);
    for (unsigned i = 0; i < 6; i++) {
        sim_drain(s, i % 3, true);
        sim_run(s, 12000);
        sim_drain(s, i % 3, false);
    }
    sim_check_positions(s);
    sim_heal(s, 50);
    cr_expect(sim_run_until_quiet(s, 90000));
    sim_finish(s, ME);
}
