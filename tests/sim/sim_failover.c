/* sim_failover.c: several managers, one of which leads under a lease in a store that they
 * share; the store is away, slow, fails over; managers are stopped, killed, cut off. What
 * holds with one manager must hold with them (I2, I3, I7, I11), and somebody leads again
 * without anybody's help. */
#include "tests/lib/sim/sim_test.h"

#define ME    "sim_failover"
#define SEEDS 12

static struct sim_opts opts(uint64_t seed, unsigned managers)
{
    return (struct sim_opts){ .seed = sim_seed(seed), .portion = sim_portion(seed), .segs = 3, .routers = 2,
                              .managers = managers, .capacity = 30, .release_per_s = 3,
                              .leave_share = 0.3, .vanish_share = 0.1 };
}

static void storm(struct sim_faults f, unsigned managers)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_opts o = opts(seed, managers);
        struct sim *s;

        o.faults = f;
        s = sim_new(&o);
        sim_join(s, 0, 0, 200, 30000);
        sim_run(s, 60000);
        sim_heal(s, 50);
        sim_run(s, 9000);
        sim_check_positions(s);
        cr_expect(sim_run_until_quiet(s, 150000));
        sim_finish(s, ME);
    }
}

Test(failover, leaders_are_killed)
{
    storm((struct sim_faults){ .mng_restart = 8 }, 2);
}

/* Who wakes finds that another one leads; what it had sent is refused. */
Test(failover, leaders_are_stopped_and_wake)
{
    storm((struct sim_faults){ .pause = 40, .slow_link = 30 }, 3);
}

Test(failover, the_store_is_away)
{
    storm((struct sim_faults){ .store_away = 8, .link_break = 20 }, 2);
}

Test(failover, the_store_is_slow)
{
    storm((struct sim_faults){ .store_slow = 12, .drain = 12 }, 2);
}

Test(failover, the_store_fails_over)
{
    storm((struct sim_faults){ .store_failover = 8, .mng_restart = 4, .store_slow = 4 }, 2);
}

/* It comes back empty, or older than it was: the leader puts its copy back. */
Test(failover, the_store_forgets)
{
    storm((struct sim_faults){ .store_forget = 1, .drain = 12 }, 2);
}

Test(failover, amid_moves_and_kills)
{
    storm((struct sim_faults){ .mng_restart = 8, .seg_kill = 10, .drain = 20, .pause = 10,
                               .slow_link = 20, .store_away = 2, .link_break = 10 }, 2);
}

static bool terms_grow(struct sim *s)
{
    return sim_count(s).terms > 1;
}

/* Nothing else goes wrong: within 3 s another one leads, and releases go on. */
Test(failover, a_standby_takes_over_in_time)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_opts o = opts(seed, 2);
        struct sim *s = sim_new(&o);
        uint64_t released;

        sim_join(s, 0, 0, 200, 5000);
        sim_run(s, 8000);
        sim_restart(s, SIM_MNG, sim_leader(s), 60000);
        cr_expect(sim_run_until(s, terms_grow, 3000), "seed %lu: nobody leads", seed);
        released = sim_count(s).released;
        sim_run(s, 4000);
        cr_expect_gt(sim_count(s).released, released, "seed %lu: no releases", seed);
        sim_heal(s, 50);
        cr_expect(sim_run_until_quiet(s, 150000));
        sim_finish(s, ME);
    }
}
