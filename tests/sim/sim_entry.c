/* sim_entry.c: people come to an empty line while there is capacity: most are let in with their
 * join, on credit, and nothing that is lost or delayed lets anybody in twice, past another, or
 * beyond rate and slots. */
#include "common/base/rng.h"
#include "tests/lib/sim/sim_test.h"

#define ME "sim_entry"

static struct sim_opts calm(uint64_t seed)
{
    return (struct sim_opts){ .seed = sim_seed(seed), .portion = sim_portion(seed),
                              .segs = 2,
                              .routers = 2,
                              .capacity = 400,
                              .release_per_s = 50,
                              .claim_ms = 4000,
                              .grace_ms = 3000,
                              .pass_ttl_ms = 15000 };
}

Test(entry, in_an_empty_line_most_are_let_in_with_their_join)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct sim_opts o = calm(seed);
        struct sim *s = sim_new(&o);

        sim_join(s, 0, 0, 300, 30000);
        cr_expect(sim_run_until_quiet(s, 120000));
        cr_expect_geq(sim_count(s).credited, 200, "only %llu of 300",
                      (unsigned long long)sim_count(s).credited);
        sim_finish(s, ME);
    }
}

Test(entry, by_slots_never_more_than_max_active)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sim_opts o = calm(seed);
        struct sim *s;

        o.max_active = 4 + 4 * (uint32_t)seed;
        o.slots_only = 1;
        o.session_leave_share = 0.9;
        s = sim_new(&o);
        sim_join(s, 0, 0, 200, 60000);
        cr_expect(sim_run_until_quiet(s, 900000));
        cr_expect_gt(sim_count(s).credited, 0);
        sim_finish(s, ME);
    }
}

static double often(struct rng *r, double share, double max)
{
    return rng_chance(r, share) ? max * rng_unit(r) : 0;
}

/* A sparse crowd, a rate above it, and a few of the faults, each often. */
static struct sim_opts draw(struct rng *r, uint64_t seed)
{
    struct sim_opts o = calm(seed);

    o.segs = 1 + (unsigned)rng_below(r, 4);
    o.lanes = 1 + (unsigned)rng_below(r, 3);
    o.managers = rng_chance(r, 0.3) ? 2 : 1;
    o.capacity = rng_chance(r, 0.5) ? 400 : 8 + (uint32_t)rng_below(r, 60);
    o.release_per_s = 1 + 60 * rng_unit(r);
    o.max_active = rng_chance(r, 0.5) ? 2 + (uint32_t)rng_below(r, 40) : 0;
    o.slots_only = rng_chance(r, 0.5);
    o.lost_after_ms = rng_chance(r, 0.5) ? 3000 + (msec_t)rng_below(r, 5000) : 0;
    o.leave_share = often(r, 0.3, 0.3);
    o.vanish_share = often(r, 0.3, 0.3);
    o.late_share = often(r, 0.3, 0.3);
    o.subject_share = often(r, 0.3, 0.5);
    o.session_leave_share = rng_unit(r);
    o.faults = (struct sim_faults){ .link_break = often(r, 0.4, 40),
                                    .link_cut = often(r, 0.3, 8),
                                    .slow_link = often(r, 0.4, 60),
                                    .link_oneway = often(r, 0.2, 6),
                                    .pause = often(r, 0.4, 15),
                                    .mng_restart = often(r, 0.4, 15),
                                    .seg_kill = often(r, 0.4, 20),
                                    .drain = often(r, 0.3, 8),
                                    .queue_pause = often(r, 0.3, 10),
                                    .queue_patch = often(r, 0.2, 5),
                                    .disk_full = often(r, 0.2, 4),
                                    .slow_proc = often(r, 0.2, 6) };
    if (o.lost_after_ms > 0)
        o.faults.seg_lose = often(r, 0.7, 6);
    return o;
}

static uint64_t one_seed(uint64_t seed)
{
    struct sim_opts o;
    struct rng r;
    struct sim *s;
    uint64_t n;

    rng_seed(&r, sim_seed(seed) * 69069u + 11);
    o = draw(&r, seed);
    s = sim_new(&o);
    for (unsigned l = 0; l < o.lanes; l++)
        sim_join(s, 0, l, 30 + (unsigned)rng_below(&r, 100), 5000 + (msec_t)rng_below(&r, 40000));
    sim_run(s, 45000);
    sim_heal(s, 20);
    if (!sim_run_until_quiet(s, 300000))
        fprintf(stderr, "seed %llu: %s\n", (unsigned long long)o.seed, sim_why(s));
    n = sim_count(s).credited;
    sim_finish(s, ME);
    return n;
}

/* SEEDS=n: more of them. */
Test(entry, whatever_fails_nobody_enters_twice_or_past_another)
{
    const char *more = getenv("SEEDS");
    uint64_t n = more != NULL ? strtoull(more, NULL, 10) : 60, credited = 0;

    for (uint64_t seed = 1; seed <= n; seed++)
        credited += one_seed(seed);
    cr_expect_gt(credited, 5 * n);
}
