/* sim_replica.c: routers answer polls of waiting tickets from what nodes have pushed, while links,
 * nodes and routers fail. The rules are looked at at each such answer (check.c, told.c):
 *   I-R1  what is told was so at most `fresh_ms` ago, by the true time
 *   I-R2  nobody who polls as told expires, whoever answered (I1)
 *   I4    nobody who polls as told is told a greater place, at whatever router
 *         but for places as last known (check.c: is_last_known)
 *   I-R3  who polled has the idle time from the next poll, as told, on (seen.c)
 *   I-R4  when nothing moves, routers and nodes tell the same place (quiet.c) */
#include "tests/lib/sim/faulty_day.h"

#define ME    "sim_replica"
#define SEEDS 8

static struct sim_opts crowd(uint64_t seed)
{
    return (struct sim_opts) { .seed = sim_seed(seed), .portion = sim_portion(seed), .segs = 3, .routers = 3, .capacity = 40,
                               .release_per_s = 3, .leave_share = 0.2, .poll_min_ms = 400,
                               .poll_max_ms = 1500 };
}

/* How many polls routers answered by themselves. */
static uint64_t play(struct sim_opts o, day_fault *fault)
{
    return faulty_day(o, fault, ME).known;
}

static void each(day_fault *fault)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        cr_expect_gt(play(crowd(seed), fault), 500);
}

Test(replica, on_a_calm_day_routers_answer_nearly_all)
{
    each(NULL);
}

static void break_something(struct sim *s, unsigned i)
{
    if (i % 2 == 0)
        cut_a_router_from_a_node(s, i);
    else
        restart_a_node(s, i);
}

/* Three regions, up to 300 ms from one another: nothing that arrives is younger than 250 ms. */
Test(replica, over_an_ocean_routers_answer_too)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_opts o = crowd(seed);

        o.ocean_ms = 300;
        o.poll_min_ms = 1000;
        cr_expect_gt(play(o, seed % 2 == 0 ? break_something : NULL), 2500);
    }
}

Test(replica, off_means_that_nodes_are_asked)
{
    struct sim_opts o = crowd(1);

    o.fresh_ms = -1;
    cr_expect_eq(play(o, NULL), 0);
}

Test(replica, links_are_cut)
{
    each(cut_a_router_from_a_node);
}

static void stop_router(struct sim *s, unsigned i)
{
    sim_pause(s, SIM_ROUTER, i % 3, i == 2 ? 60000 : 300 + 100 * i);
}

Test(replica, routers_are_stopped_one_for_a_minute)
{
    each(stop_router);
}

static void stop_node(struct sim *s, unsigned i)
{
    sim_pause(s, SIM_SEG, i % 3, 200 + 900 * i);
}

Test(replica, nodes_are_stopped)
{
    each(stop_node);
}

Test(replica, nodes_come_back_with_another_clock)
{
    each(restart_a_node);
}

static void empty_node(struct sim *s, unsigned i)
{
    sim_drain(s, (i + 2) % 3, false);
    sim_drain(s, i % 3, true);
    sim_cut(s, SIM_ROUTER, 0, SIM_SEG, (i + i / 3) % 3, 700); /* the source, then a target */
    sim_cut(s, SIM_ROUTER, 1, SIM_MNG, 0, 1500);              /* an old map */
}

Test(replica, segments_move_and_merge_while_streams_and_maps_are_late)
{
    each(empty_node);
}

static void slow_links(struct sim *s, unsigned i)
{
    sim_leave_waiting(s, 0, 0.2);
    empty_node(s, i);
}

Test(replica, everything_is_late_at_random)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_opts o = crowd(seed);

        o.faults = (struct sim_faults) { .slow_link = 60, .slow_proc = 10, .link_oneway = 4 };
        play(o, slow_links);
    }
}

/* People are told longer intervals than they may be silent: what a router has told, and did not
 * live to say, expires nobody. */
static void kill_router(struct sim *s, unsigned i)
{
    for (unsigned k = 0; k < 3; k++)
        sim_restart(s, SIM_ROUTER, (i + k) % 3, 100 + 300 * k);
}

Test(replica, routers_are_killed_before_they_have_said_who_polled)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_opts o = crowd(seed);

        o.idle_ms = 3000;
        o.poll_min_ms = 4000;
        o.poll_max_ms = 6000;
        play(o, kill_router);
    }
}

/* Nodes do not hear what routers tell, and routers do: for longer than people may be silent. */
Test(replica, who_is_answered_over_a_cut_that_one_end_sees_does_not_expire)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_opts o = crowd(seed);

        o.idle_ms = 1000;
        o.faults.link_oneway = 30;
        play(o, NULL);
    }
}

/* Who is back so late that his turn comes before his node has heard of it is passed over, and first
 * when he polls again; nobody else is. */
Test(replica, people_are_back_when_they_are_passed_over)
{
    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        struct sim_opts o = crowd(seed);

        o.idle_ms = 8000;
        o.away_ms = 1000;
        o.late_share = 0.5;
        play(o, NULL);
    }
}

Test(replica, intervals_are_shorter_than_states_are_old)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_opts o = crowd(seed);

        o.poll_min_ms = 60;
        o.poll_max_ms = 200;
        o.faults.link_break = 20;
        play(o, NULL);
    }
}

Test(replica, before_a_draw_nobody_has_a_place)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_opts o = crowd(seed);

        o.opens_ms = 15000;
        o.prequeue_ms = 14000;
        play(o, restart_a_node);
    }
}

static void lose_node(struct sim *s, unsigned i)
{
    if (i % 3 == 0)
        sim_lose(s, i % 2, 1000);
}

Test(replica, segments_are_lost_and_brought_back_by_their_people)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_opts o = crowd(seed);

        o.lost_after_ms = 9000;
        play(o, lose_node);
    }
}

/* ---- nodes that cannot be asked ------------------------------------------------------------- */

/* Nobody is let in, joins or leaves: everybody who polls waits. */
static struct sim *all_wait(uint64_t seed, msec_t keep_ms)
{
    struct sim_opts o = crowd(seed);
    struct sim *s;

    o.leave_share = 0;
    o.keep_ms = keep_ms;
    s = sim_new(&o);
    sim_join(s, 0, 0, 200, 8000);
    sim_run(s, 15000);
    sim_order(s, 0, MNG_PAUSE);
    sim_run(s, 25000);
    return s;
}

static uint64_t put_off(msec_t keep_ms, struct sim_counts *c)
{
    uint64_t n = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *s = all_wait(seed, keep_ms);
        uint64_t before = sim_count(s).put_off;

        for (unsigned i = 0; i < 3; i++) {
            sim_restart(s, SIM_SEG, i, 8000);
            sim_run(s, 12000);
        }
        n += sim_count(s).put_off - before;
        c->kept += sim_count(s).kept;
        c->last_known += sim_count(s).last_known;
        sim_order(s, 0, MNG_RESUME);
        sim_heal(s, 50);
        cr_expect(sim_run_until_quiet(s, 200000));
        sim_finish(s, ME);
    }
    return n;
}

Test(replica, a_node_is_killed_and_nobody_who_waits_is_put_off)
{
    struct sim_counts c = { 0 };

    cr_expect_eq(put_off(0, &c), 0);
    cr_expect_gt(c.last_known, SEEDS * 300);
    cr_expect_gt(put_off(-1, &c), 100, "without it they are");
}

/* It lives on, and lets people in: who is told so elsewhere must not be told that he waits. */
Test(replica, a_node_that_only_this_router_does_not_reach_is_asked)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *s = all_wait(seed, 0);
        struct sim_counts was = sim_count(s);

        for (unsigned i = 0; i < 3; i++)
            sim_cut(s, SIM_ROUTER, 0, SIM_SEG, i, 6000);
        sim_run(s, 8000);
        cr_expect_gt(sim_count(s).put_off, was.put_off + 10);
        sim_order(s, 0, MNG_RESUME);
        sim_heal(s, 50);
        cr_expect(sim_run_until_quiet(s, 200000));
        sim_finish(s, ME);
    }
}

static void kill_some(struct sim *s, unsigned i)
{
    sim_restart(s, SIM_SEG, i % 3, 1000 + 2000 * (i % 4));
    sim_cut(s, SIM_ROUTER, i % 3, SIM_SEG, (i + 1) % 3, 4000);
    if (i % 2 == 1)
        sim_cut(s, SIM_ROUTER, (i + 1) % 3, SIM_MNG, 0, 5000);
    if (i % 3 == 2)
        sim_restart(s, SIM_ROUTER, i % 2, 300);
}

Test(replica, nodes_are_away_routers_are_cut_off_and_killed)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_opts o = crowd(seed);

        o.idle_ms = 12000;
        o.lost_after_ms = seed % 2 == 0 ? 5000 : 0;
        play(o, kill_some);
    }
}

/* ---- who has left -------------------------------------------------------------------------- */

/* A third of those who wait leaves, and has its answers. */
static struct sim *many_leave(uint64_t seed, unsigned managers)
{
    struct sim_opts o = crowd(seed);
    struct sim *s;

    o.managers = managers;
    o.leave_share = 0;
    o.lost_after_ms = 20000;
    o.asks_on = true;
    s = sim_new(&o);
    sim_join(s, 0, 0, 200, 8000);
    sim_run(s, 15000);
    sim_order(s, 0, MNG_PAUSE);
    sim_run(s, 5000);
    sim_leave_waiting(s, 0, 0.3);
    sim_run(s, 60);
    cr_expect_gt(sim_count(s).left, 5);
    return s;
}

static void all_have_asked(struct sim *s)
{
    cr_expect_eq(sim_count(s).left_other, 0);
    sim_order(s, 0, MNG_RESUME);
    sim_heal(s, 50);
    cr_expect(sim_run_until_quiet(s, 200000));
    sim_finish(s, ME);
}

Test(replica, who_has_left_is_not_told_that_he_waits_when_his_node_dies)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *s = many_leave(seed, 1);

        for (unsigned i = 0; i < 3; i++)
            sim_restart(s, SIM_SEG, i, 10000);
        sim_run(s, 9000);
        cr_expect_eq(sim_count(s).left_waits, 0);
        all_have_asked(s);
    }
}

/* What a router says, and what it hears, is lost at times: it is said with the next link. */
Test(replica, who_has_left_is_told_so_once_routers_are_linked_again)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *s = many_leave(seed, 1);
        uint64_t was;

        for (unsigned i = 0; i < 3; i++) {
            sim_cut(s, SIM_ROUTER, i, SIM_MNG, 0, 300 + 400 * i);
            sim_restart(s, SIM_SEG, i, 12000);
        }
        sim_run(s, 3000);
        was = sim_count(s).left_waits;
        sim_run(s, 8000);
        cr_expect_eq(sim_count(s).left_waits, was);
        all_have_asked(s);
    }
}

/* A new leader has not heard the nodes: nobody is told anything as last known by its word. */
Test(replica, who_has_left_is_not_told_that_he_waits_when_another_manager_leads)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *s = many_leave(seed, 2);

        sim_restart(s, SIM_MNG, sim_leader(s), 500);
        for (unsigned i = 0; i < 3; i++)
            sim_restart(s, SIM_SEG, i, 12000);
        sim_run(s, 11000);
        cr_expect_eq(sim_count(s).left_waits, 0);
        all_have_asked(s);
    }
}

/* Its nodes know it then as they did before. */
Test(replica, a_rebuild_brings_back_nobody_who_has_left)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *s = many_leave(seed, 1);

        for (unsigned i = 0; i < 3; i++)
            sim_lose(s, i, 1000 + 500 * i);
        sim_run(s, 60000);
        cr_expect_eq(sim_left_unknown(s), 0);
        cr_expect_eq(sim_count(s).left_waits, 0);
        cr_expect_eq(sim_count(s).left_back, 0);
        all_have_asked(s);
    }
}
