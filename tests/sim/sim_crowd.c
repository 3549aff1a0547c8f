/* sim_crowd.c: a lost segment is rebuilt from its clients' polls: segment nodes lose memory and journal, and the people
 * who poll bring back what was there: in order, nobody admitted twice, nobody lost who
 * comes within the idle time-out. tests/lib/sim/check.c looks at every answer. */
#include "common/wire/msg.h"
#include "tests/lib/sim/sim_test.h"

#define ME    "sim_crowd"
#ifdef __SANITIZE_ADDRESS__ /* of gcc */
#define SEEDS 10
#else
#define SEEDS 40
#endif

static struct sim_opts opts(uint64_t seed)
{
    return (struct sim_opts){ .seed = sim_seed(seed), .portion = sim_portion(seed),
                              .segs = 3,
                              .routers = 2,
                              .capacity = 40,
                              .release_per_s = 4,
                              .idle_ms = 12000,
                              .poll_max_ms = 1500,
                              .lost_after_ms = 6000 };
}

/* Everybody who has not been admitted before gets in, and then the place is tidy. */
static void all_get_in(struct sim *s, unsigned joined)
{
    struct sim_counts c;

    sim_heal(s, 60);
    cr_expect(sim_run_until_quiet(s, 120000));
    c = sim_count(s);
    cr_expect_eq(c.joined, joined);
    cr_expect_eq(c.admitted, joined, "%lu of %u were admitted", c.admitted, joined);
    sim_finish(s, ME);
}

/* A crowd of 200 in five segments, the first of which is being released. */
static struct sim *waiting_crowd(uint64_t seed)
{
    struct sim_opts o = opts(seed);
    struct sim *s = sim_new(&o);

    sim_join(s, 0, 0, 200, 4000);
    sim_run(s, 6000 + (msec_t)(seed % 7) * 130);
    return s;
}

static bool whole(struct sim *s)
{
    return !sim_rebuilding(s);
}

static unsigned any_with_tickets(struct sim *s, uint64_t seed)
{
    unsigned no = (unsigned)(seed % 3);

    for (unsigned i = 0; i < 3 && sim_node_tickets(s, no) == 0; i++)
        no = (no + 1) % 3;
    return no;
}

static void lose_one(msec_t down_ms)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *s = waiting_crowd(seed);

        sim_lose(s, any_with_tickets(s, seed), down_ms);
        sim_run(s, down_ms < 6000 ? down_ms + 1000 : 10500);
        cr_expect(sim_rebuilding(s), "seed %lu: nothing was lost", seed);
        /* who was told an interval by a router, while the node was down, has time, too */
        cr_expect(sim_run_until(s, whole, 25000 + REPLICA_KEEP_MS), "seed %lu: not whole", seed);
        cr_expect_gt(sim_mng_count(s).rebuilt, 0);
        all_get_in(s, 200);
    }
}

/* Head, middle or tail, by seed; releases go on. */
Test(crowd, a_node_is_back_at_once_and_empty)
{
    lose_one(300);
}

Test(crowd, a_node_stays_away_and_others_take_its_segments)
{
    lose_one(60000);
}

Test(crowd, two_nodes_at_once)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *s = waiting_crowd(seed);

        sim_lose(s, (unsigned)(seed % 3), 400);
        sim_lose(s, (unsigned)((seed + 1) % 3), seed % 2 == 0 ? 700 : 30000);
        sim_run(s, 45000);
        all_get_in(s, 200);
    }
}

Test(crowd, all_nodes_at_once)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *s = waiting_crowd(seed);

        for (unsigned i = 0; i < 3; i++)
            sim_lose(s, i, 200 + 100 * i);
        sim_run(s, 2000);
        sim_restart(s, SIM_MNG, 0, 500);
        sim_run(s, 40000);
        all_get_in(s, 200);
    }
}

/* Silent for longer than the idle time-out, and so given up, before everything is lost; then
 * back. Nobody knows that he was given up: he waits again, before people who were let in. */
Test(crowd, an_expired_ticket_returns_after_a_loss)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_opts o = opts(seed);
        struct sim *s;

        o.late_share = 0.5;
        o.release_per_s = 6;
        s = sim_new(&o);
        sim_join(s, 0, 0, 300, 4000);
        sim_run(s, 22000 + (msec_t)seed * 400);
        for (unsigned i = 0; i < 3; i++)
            sim_lose(s, i, 200);
        sim_run(s, 40000);
        sim_heal(s, 60);
        cr_expect(sim_run_until_quiet(s, 120000));
        sim_finish(s, ME);
    }
}

/* While it is being rebuilt the new copy is lost, too; then its journal must do. */
Test(crowd, lost_again_or_killed_meanwhile)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *s = waiting_crowd(seed);
        unsigned no = (unsigned)(seed % 3);

        sim_lose(s, no, 200);
        sim_run(s, 3000);
        if (seed % 2 == 0)
            sim_lose(s, no, 300);
        else
            sim_restart(s, SIM_SEG, no, 300); /* with its journal */
        sim_run(s, 40000);
        all_get_in(s, 200);
    }
}

/* At any moment of it the manager goes, for longer than people have to come back: routers
 * may not have heard where it is now. */
Test(crowd, the_manager_is_down_during_recovery)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *s = waiting_crowd(seed);

        sim_lose(s, any_with_tickets(s, seed), 200);
        sim_run(s, 200 + (msec_t)seed * 20);
        sim_restart(s, SIM_MNG, 0, 25000);
        sim_run(s, 70000);
        all_get_in(s, 200);
    }
}

/* Cut off for so long that its segments are given to others; it has lost nothing, and its
 * routers could still reach it. What it brings back is not taken. */
Test(crowd, the_old_node_comes_back_with_everything)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *s = waiting_crowd(seed);
        unsigned no = (unsigned)(seed % 3);

        sim_restart(s, SIM_SEG, no, 11000);
        sim_run(s, 45000);
        all_get_in(s, 200);
    }
}

/* The only node, away for longer than lost_after: nobody else could take its segments, so
 * what it brings back is taken. */
Test(crowd, nobody_else_has_room)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_opts o = opts(seed);
        struct sim *s;

        o.segs = 1;
        s = sim_new(&o);
        sim_join(s, 0, 0, 150, 4000);
        sim_run(s, 6000);
        sim_restart(s, SIM_SEG, 0, 12000);
        sim_run(s, 15000);
        cr_expect_not(sim_rebuilding(s));
        cr_expect_eq(sim_mng_count(s).rebuilt, 0);
        all_get_in(s, 150);
    }
}

static void one_amid_moves(const struct sim_faults *f, uint64_t seed)
{
    struct sim_opts o = opts(seed);
    struct sim *s;

    o.capacity = 25;
    o.release_per_s = 1;
    o.leave_share = 0.4;
    o.vanish_share = 0.1;
    o.faults = *f;
    s = sim_new(&o);
    sim_join(s, 0, 0, 250, 12000);
    sim_run(s, 50000);
    sim_heal(s, 60);
    sim_run(s, 9000);
    sim_check_positions(s);
    cr_expect(sim_run_until_quiet(s, 150000));
    sim_finish(s, ME);
}

/* Merges and drains, and in the midst of them nodes lose everything. */
static void amid_moves(struct sim_faults f)
{
    for (uint64_t seed = 1; seed <= 2 * SEEDS; seed++)
        one_amid_moves(&f, seed);
}

Test(crowd, amid_moves)
{
    amid_moves((struct sim_faults){ .drain = 20, .slow_link = 30, .seg_lose = 6 });
}

/* 7041: a node had the source of a move whose target was lost, and was given it to rebuild.
 * 62318: a router took the source for what waits, since the node that had lost the target did not
 * list it. */
Test(crowd, amid_everything)
{
    struct sim_faults f = { .drain = 20, .slow_link = 20, .seg_lose = 6, .seg_kill = 8,
                            .mng_restart = 6, .link_break = 10, .router_restart = 3 };

    amid_moves(f);
    one_amid_moves(&f, 7041);
    one_amid_moves(&f, 62318);
}
