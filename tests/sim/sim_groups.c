/* sim_groups.c: people who stand in several queues at once, while tails fill up, nodes merge and
 * drain, links break, and processes are killed: a place that somebody was told of is given back by
 * nobody (tests/lib/sim/groups.h), and of a join that came to nothing no place is left. */
#include "tests/lib/sim/groups.h"
#include "tests/lib/sim/sim_test.h"

#define ME "sim_groups"
#ifdef __SANITIZE_ADDRESS__ /* of gcc */
#define SEEDS 8
#else
#define SEEDS 25
#endif

#define TIME_MS 300000 /* nobody times out */

static struct group_counts sum; /* of a test's seeds, */
static uint32_t left_over, tickets; /* and what nobody has in the end */

static struct sim_opts opts(uint64_t seed)
{
    return (struct sim_opts){ .seed = sim_seed(seed),
                              .segs = 4,
                              .routers = 3,
                              .queues = 3,
                              .lanes = 1,
                              .capacity = 25,
                              .release_per_s = 0.2,
                              .claim_ms = TIME_MS,
                              .idle_ms = TIME_MS,
                              .pass_ttl_ms = TIME_MS,
                              .poll_max_ms = 1500 };
}

static void add(const struct group_counts *c)
{
    sum.joined += c->joined;
    sum.failed += c->failed;
    sum.turns += c->turns;
    sum.given_back += c->given_back;
    sum.late += c->late;
    sum.killed += c->killed;
}

static void one(const struct sim_faults *f, uint64_t seed, uint32_t portion)
{
    struct sim_opts o = opts(seed);
    struct group_counts c;
    struct sim *s;

    o.faults = *f;
    o.portion = portion;
    s = sim_new(&o);
    sim_join_groups(s, 120, 0.4, 30000);
    sim_run(s, 35000);
    sim_heal(s, 0.2);
    cr_expect(sim_run_until(s, groups_over, 120000) || !sim_ok(s), "seed %lu", (unsigned long)seed);
    sim_run(s, 35000); /* what goes on behind answers has ended */
    c = groups_count(s);
    add(&c);
    left_over += groups_left(s);
    tickets += s->n_tickets;
    sim_finish(s, ME);
}

/* kept: seeds that once found something; the last is 0. */
static void storm(struct sim_faults f, const uint64_t *kept)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        one(&f, seed, sim_portion(seed));
    for (; *kept != 0; kept++)
        one(&f, *kept, 0);
    printf("groups: %u joined, %u in vain, %u turns, %u places given back, %u behind the answer, %u calls killed; "
           "%u of %u left\n",
           sum.joined, sum.failed, sum.turns, sum.given_back, sum.late, sum.killed, left_over, tickets);
    cr_expect(sum.joined > 20 * SEEDS && sum.given_back > 20 * SEEDS, "%u joined, %u given back", sum.joined,
              sum.given_back);
}

/* 4002: a join that had been put off often never came to the node that counts it. */
Test(groups, nothing_is_left_while_nodes_fill_up_and_drain)
{
    storm((struct sim_faults){ .drain = 20, .slow_link = 20 }, (const uint64_t[]){ 4002, 0 });
    cr_expect_eq(left_over, 0, "%u places", left_over);
}

/* Which of two asks under a link that ended was heard nobody knows. */
Test(groups, hardly_anything_is_left_while_processes_stand_still)
{
    storm((struct sim_faults){ .pause = 20, .slow_proc = 10, .drain = 8 }, (const uint64_t[]){ 0 });
    cr_expect_gt(sum.late, 0);
    cr_expect_lt(left_over, tickets / 500, "%u places", left_over);
}

Test(groups, hardly_anything_is_left_while_links_break)
{
    storm((struct sim_faults){ .link_break = 40, .link_cut = 10, .drain = 8 }, (const uint64_t[]){ 0 });
    cr_expect_lt(left_over, tickets / 500, "%u places", left_over);
}

/* With a router goes what it would give back; a node's journal does not count who has a place. These time out. */
Test(groups, little_is_left_while_processes_are_killed)
{
    storm((struct sim_faults){ .seg_kill = 20, .router_restart = 10, .mng_restart = 10, .drain = 10 },
          (const uint64_t[]){ 0 });
    cr_expect_gt(sum.killed, 0);
    cr_expect_lt(left_over, tickets / 40, "%u places", left_over);
}
