/* sim_lanes.c: lanes share a queue's releases by weight, whatever each of them has; and people go
 * from one to another by claims. SEEDS=n: so many clusters for these (20). */
#include "tests/lib/sim/sim_test.h"

#define ME "sim_lanes"
#define LANES 3 /* of weights 1, 2, 3 */

static struct sim_opts opts(uint64_t seed)
{
    return (struct sim_opts){ .seed = sim_seed(seed), .portion = sim_portion(seed),
                              .segs = 3,
                              .routers = 2,
                              .lanes = LANES,
                              .capacity = 40,
                              .release_per_s = 30,
                              .idle_ms = 12000,
                              .pass_ttl_ms = 20000,
                              .poll_max_ms = 1500 };
}

static void look(const struct sim *s, uint64_t n[LANES])
{
    for (unsigned l = 0; l < LANES; l++)
        n[l] = sim_let_in(s, 0, l);
}

/* In each of some windows, of those let in the lanes that have people get their shares,
 * to one tick's worth. share: of 6. */
static void shares_are(struct sim *s, const unsigned share[LANES])
{
    uint64_t was[LANES], now[LANES];

    for (int window = 0; window < 5; window++) {
        look(s, was);
        sim_run(s, 2000);
        look(s, now);
        for (unsigned l = 0; l < LANES; l++) {
            double n = (double)(now[l] - was[l]), want = 60.0 * share[l] / 6;

            cr_expect(n >= want - 4 && n <= want + 4, "lane %u was given %g, not %g", l, n, want);
        }
    }
}

Test(lanes, shares_follow_the_weights)
{
    struct sim_opts o = opts(1);
    struct sim *s = sim_new(&o);

    for (unsigned l = 0; l < LANES; l++)
        sim_join(s, 0, l, 200 * (l + 1), 300);
    sim_run(s, 2000);
    shares_are(s, (const unsigned[]){ 1, 2, 3 });
    sim_check_positions(s);
    sim_heal(s, 200);
    cr_expect(sim_run_until_quiet(s, 120000));
    sim_finish(s, ME);
}

/* Nothing is kept for a lane that is empty, and it owes nothing when its people come. */
Test(lanes, an_empty_lanes_share_goes_to_the_others)
{
    struct sim_opts o = opts(2);
    struct sim *s = sim_new(&o);

    sim_join(s, 0, 0, 400, 300);
    sim_join(s, 0, 1, 600, 300);
    sim_run(s, 2000);
    shares_are(s, (const unsigned[]){ 2, 4, 0 });
    sim_join(s, 0, 2, 500, 300);
    sim_run(s, 1000);
    shares_are(s, (const unsigned[]){ 1, 2, 3 });
    sim_heal(s, 200);
    cr_expect(sim_run_until_quiet(s, 120000));
    sim_finish(s, ME);
}

/* ---- claims that replace a ticket ---------------------------------------------------------- */

static void replace(uint64_t seed, double share, const struct sim_faults *faults)
{
    struct sim_opts o = opts(seed);
    struct sim *s;

    o.release_per_s = 4;
    o.replace_share = share;
    o.subject_share = o.seed % 3 == 0 ? 0.6 : 0;
    o.leave_share = 0.1;
    o.vanish_share = 0.1;
    o.faults = *faults;
    s = sim_new(&o);
    for (unsigned l = 0; l < LANES; l++)
        sim_join(s, 0, l, 60, 8000);
    sim_run(s, 25000);
    sim_heal(s, 60);
    (void)sim_run_until_quiet(s, 120000);
    cr_expect(!sim_ok(s) || sim_count(s).replaced > 10, "%llu were replaced",
              (unsigned long long)sim_count(s).replaced);
    sim_finish(s, ME);
}

static uint64_t seeds(void)
{
    const char *text = getenv("SEEDS");

    return text != NULL ? strtoull(text, NULL, 10) : 20;
}

Test(lanes, a_replacing_join_exchanges_one_place_for_another)
{
    replace(3, 1, &(struct sim_faults){ 0 });
}

/* Nobody has two places after it, and nobody is left without one; what is looked at, and when:
 * replace.c. */
Test(lanes, a_crash_amid_a_replacing_join_leaves_one_place, .timeout = 3600)
{
    const struct sim_faults crashes = { .link_break = 20, .pause = 5, .router_restart = 10,
                                        .mng_restart = 4, .seg_kill = 15, .drain = 6,
                                        .slow_link = 10 };

    for (uint64_t i = 0; i < seeds(); i++)
        replace(100 + i, 0.7, &crashes);
}
