/* sim_merge.c: sparse sealed neighbours become one; nobody notices. */
#include "tests/lib/sim/sim_test.h"

#define ME "sim_merge"

static bool merged(struct sim *s)
{
    return sim_mng_count(s).moves_committed >= 2;
}

/* Full segments of which most people leave. */
static struct sim *sparse(uint64_t seed, unsigned segs)
{
    struct sim *s = sim_new(&(struct sim_opts){ .seed = sim_seed(seed), .portion = sim_portion(seed), .segs = segs,
                                                .routers = 2, .capacity = 50,
                                                .release_per_s = 0.01 });

    sim_join(s, 0, 0, 260, 4000);
    sim_run(s, 8000);
    sim_leave_waiting(s, 0, 0.7);
    return s;
}

Test(merge, people_leave_and_segments_merge)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sim *s = sparse(seed, 3);

        cr_expect(sim_run_until(s, merged, 30000), "seed %lu: %lu moves", seed,
                  sim_mng_count(s).moves_committed);
        sim_check_positions(s);
        sim_heal(s, 50);
        cr_expect(sim_run_until_quiet(s, 60000));
        sim_finish(s, ME);
    }
}

Test(merge, on_one_node)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct sim *s = sparse(seed, 1);

        cr_expect(sim_run_until(s, merged, 30000));
        sim_check_positions(s);
        sim_heal(s, 50);
        cr_expect(sim_run_until_quiet(s, 60000));
        sim_finish(s, ME);
    }
}

Test(merge, while_people_are_released_and_leave)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim *s = sim_new(&(struct sim_opts){ .seed = sim_seed(seed), .portion = sim_portion(seed), .segs = 3,
                                                    .routers = 2, .capacity = 30,
                                                    .release_per_s = 2,
                                                    .leave_share = 0.6,
                                                    .session_leave_share = 0.5 });

        sim_join(s, 0, 0, 300, 20000);
        sim_run(s, 60000);
        sim_heal(s, 50);
        cr_expect(sim_run_until_quiet(s, 120000));
        sim_finish(s, ME);
    }
}
