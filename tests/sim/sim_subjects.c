/* sim_subjects.c: one place per person: names come twice, through several routers, over
 * tails that fill up, while nodes merge, drain, are killed and come back.
 * tests/lib/sim/check.c looks for two live tickets of one subject. */
#include "tests/lib/sim/sim_test.h"

#define ME "sim_subjects"
#ifdef __SANITIZE_ADDRESS__ /* of gcc */
#define SEEDS 8
#else
#define SEEDS 25
#endif

static struct sim_opts opts(uint64_t seed)
{
    return (struct sim_opts){ .seed = sim_seed(seed),
                              .segs = 3,
                              .routers = 3,
                              .lanes = 1,
                              .capacity = 25,
                              .release_per_s = 4,
                              .leave_share = 0.2,
                              .idle_ms = 12000,
                              .pass_ttl_ms = 20000,
                              .poll_max_ms = 1500,
                              .subject_share = 1,
                              .portion = sim_portion(seed) };
}

/* Everybody comes within a moment, and again while the line moves. */
static void crowds(struct sim *s)
{
    sim_join(s, 0, 0, 120, 300);
    sim_join(s, 0, 0, 120, 20000);
    sim_run(s, 22000);
}

static struct sim_counts sum; /* of a test's seeds */

static void end(struct sim *s)
{
    struct sim_counts c;

    sim_heal(s, 60);
    cr_expect(sim_run_until_quiet(s, 150000));
    c = sim_count(s);
    cr_expect_gt(c.found, 20, "only %lu joins found an old place", c.found);
    cr_expect_gt(c.joined, 60);
    cr_expect_gt(c.parked, 10, "only %lu joins waited for another node's word", c.parked);
    sum.again_told += c.again_told;
    sum.cuts += c.cuts;
    sim_finish(s, ME);
}

Test(subjects, one_place_per_subject)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_opts o = opts(seed);
        struct sim *s = sim_new(&o);

        crowds(s);
        cr_expect_lt(sim_count(s).unavailable, 20, "%lu answers 503 on a calm day",
                     sim_count(s).unavailable);
        end(s);
    }
}

static void one(const struct sim_faults *f, msec_t lost_after_ms, uint64_t seed, uint32_t portion)
{
    struct sim_opts o = opts(seed);
    struct sim *s;

    o.portion = portion;
    o.faults = *f;
    o.lost_after_ms = lost_after_ms;
    s = sim_new(&o);
    crowds(s);
    end(s);
}

/* kept: seeds that once found something; the last is 0. */
static void storm(struct sim_faults f, msec_t lost_after_ms, const uint64_t *kept)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        one(&f, lost_after_ms, seed, sim_portion(seed));
    for (; *kept != 0; kept++)
        one(&f, lost_after_ms, *kept, 0);
}

Test(subjects, nodes_are_killed)
{
    storm((struct sim_faults){ .seg_kill = 20, .mng_restart = 10, .router_restart = 5 }, 0,
          (const uint64_t[]){ 0 });
}

Test(subjects, nodes_are_killed_amid_moves)
{
    storm((struct sim_faults){ .seg_kill = 15, .drain = 20, .slow_link = 20 }, 0,
          (const uint64_t[]){ 0 });
}

/* 16011: a router took the manager's word for a state that was newer than the word.
 * 51551: ... and for the shortest the interval that it knew; others were told a shorter one. */
Test(subjects, links_break_and_nodes_stand_still)
{
    storm((struct sim_faults){ .link_break = 40, .link_cut = 10, .pause = 15, .drain = 8 }, 0,
          (const uint64_t[]){ 16011, 51551, 0 });
    cr_expect_gt(sum.again_told, SEEDS / 2, "%lu joins were asked again and told a place", sum.again_told);
}

/* Members come and go: what they hold is said anew. (Checker) 12015: a router and a node that was
 * given up, cut off together; 51262: a router that hears late that a node is back. */
Test(subjects, nodes_are_given_up_and_come_back)
{
    storm((struct sim_faults){ .seg_kill = 6, .link_cut = 15, .add_node = 4, .drain = 6 }, 5000,
          (const uint64_t[]){ 12015, 51262, 0 });
}

/* What a node holds is told to the others a few names at a time, each time anew, since links break. Meanwhile many
 * leave, lots are drawn, segments are moved, and snapshots go on. */
static void told_amid(unsigned segs, struct sim_faults f, msec_t opens_ms)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_opts o = opts(seed);
        struct sim *s;

        o.segs = segs;
        o.capacity = 60;
        o.leave_share = 0.8;
        o.faults = f;
        o.portion = 1 + sim_seed(seed) % 6;
        o.opens_ms = o.prequeue_ms = opens_ms;
        o.prequeue_capacity = 60;
        s = sim_new(&o);
        sim_join(s, 0, 0, 120, 300);
        sim_join(s, 0, 0, 120, 5000);
        sim_run(s, 22000);
        end(s);
    }
}

Test(subjects, names_are_told_amid_moves)
{
    told_amid(4, (struct sim_faults){ .link_break = 200, .slow_link = 60, .drain = 90 }, 0);
}

Test(subjects, names_are_told_amid_draws)
{
    told_amid(2, (struct sim_faults){ .link_break = 200, .slow_link = 200 }, 20000);
}
