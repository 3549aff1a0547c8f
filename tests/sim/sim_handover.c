/* sim_handover.c: a tail fills, seals itself, and the next segment goes on: nobody is
 * lost, nobody overtakes. */
#include "tests/lib/sim/sim_test.h"

#define ME "sim_handover"

Test(handover, a_full_tail_hands_over_without_losing_anyone)
{
    struct sim *s = sim_new(&(struct sim_opts){ .seed = sim_seed(7), .segs = 2,
                                                .capacity = 100, .release_per_s = 0.001,
                                                .no_merge = true });

    sim_join(s, 0, 0, 150, 5000);
    sim_run(s, 8000);
    cr_expect_eq(sim_count(s).joined, 150);
    cr_expect_geq(sim_chain_len(s, 0, 0), 2);
    cr_expect_eq(sim_node_tickets(s, 0) + sim_node_tickets(s, 1), 150);
    sim_check_positions(s);
    sim_heal(s, 100);
    cr_expect(sim_run_until_quiet(s, 60000));
    cr_expect_eq(sim_count(s).admitted, 150);
    sim_finish(s, ME);
}

Test(handover, a_burst_over_many_seams)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim *s = sim_new(&(struct sim_opts){ .seed = sim_seed(seed), .portion = sim_portion(seed), .segs = 3,
                                                    .routers = 3, .capacity = 10,
                                                    .release_per_s = 30 });

        sim_join(s, 0, 0, 200, 300);
        cr_expect(sim_run_until_quiet(s, 120000));
        cr_expect_eq(sim_count(s).admitted, 200);
        sim_finish(s, ME);
    }
}

Test(handover, capacity_one)
{
    struct sim *s = sim_new(&(struct sim_opts){ .seed = sim_seed(3), .segs = 2, .routers = 2,
                                                .capacity = 1, .release_per_s = 50 });

    sim_join(s, 0, 0, 60, 3000);
    cr_expect(sim_run_until_quiet(s, 120000));
    cr_expect_eq(sim_count(s).admitted, 60);
    sim_finish(s, ME);
}

Test(handover, successor_opened_late)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sim *s = sim_new(&(struct sim_opts){ .seed = sim_seed(seed), .portion = sim_portion(seed), .segs = 2,
                                                    .routers = 2, .capacity = 20,
                                                    .open_next_at = 1.0,
                                                    .release_per_s = 20 });

        sim_join(s, 0, 0, 100, 2000);
        cr_expect(sim_run_until_quiet(s, 120000));
        sim_finish(s, ME);
    }
}

Test(handover, lanes_and_queues_do_not_mix)
{
    struct sim *s = sim_new(&(struct sim_opts){ .seed = sim_seed(5), .segs = 3, .routers = 2,
                                                .queues = 3, .lanes = 2, .capacity = 25,
                                                .release_per_s = 20 });

    for (unsigned q = 0; q < 3; q++)
        for (unsigned l = 0; l < 2; l++)
            sim_join(s, q, l, 70, 6000);
    sim_run(s, 4000);
    sim_check_positions(s);
    cr_expect(sim_run_until_quiet(s, 120000));
    cr_expect_eq(sim_count(s).admitted, 420);
    sim_finish(s, ME);
}
