/* sim_opening.c: a queue that opens by the clock, whose early ones draw lots, while whatever
 * takes part in it dies, is emptied or is lost. (The rules of the draw are looked at all the
 * time, from what is published alone: sim_opening.c of tests/lib.) */
#include "tests/lib/sim/sim_test.h"

#define ME "sim_opening"

static struct sim_opts early(uint64_t seed)
{
    return (struct sim_opts){ .seed = sim_seed(seed), .portion = sim_portion(seed), .segs = 3, .routers = 2,
                              .capacity = 30, .release_per_s = 10, .opens_ms = 15000,
                              .prequeue_ms = 10000, .prequeue_capacity = 25 };
}

#define AT_OPENING_MS 14900 /* just before it */

/* Returns how many segments have drawn. People come from 0 to 25 s; at at_ms `fault`
 * happens. */
static uint64_t play_with(struct sim_opts o, msec_t at_ms,
                          void (*fault)(struct sim *s, unsigned i), unsigned i)
{
    struct sim *s = sim_new(&o);
    uint64_t draws;

    sim_join(s, 0, 0, 150, 25000);
    sim_run(s, at_ms - sim_now(s));
    fault(s, i);
    sim_run(s, 30000 - sim_now(s));
    sim_heal(s, 50);
    sim_run(s, 9000);
    sim_check_positions(s);
    cr_expect(sim_run_until_quiet(s, 300000));
    draws = sim_count(s).draws;
    sim_finish(s, ME);
    return draws;
}

static void nothing(struct sim *s, unsigned i)
{
    (void)s;
    (void)i;
}

static uint64_t play(struct sim_opts o)
{
    return play_with(o, AT_OPENING_MS, nothing, 0);
}

Test(opening, early_ones_draw_the_others_come_behind)
{
    cr_expect_geq(play(early(1)), 2);
}

Test(opening, nobody_may_come_early)
{
    struct sim_opts o = early(2);

    o.prequeue_ms = 0;
    cr_expect_eq(play(o), 0);
}

/* ---- at the very opening: nobody who comes after it draws ----------------------------- */

static void kill_all(struct sim *s, unsigned i)
{
    for (unsigned k = 0; k < 3; k++)
        sim_restart(s, SIM_SEG, k, 100 + 400 * (i + k));
    for (unsigned k = 0; k < 2; k++)
        sim_restart(s, SIM_ROUTER, k, 200);
    sim_restart(s, SIM_MNG, 0, 700 * i);
}

static void kill_the_manager(struct sim *s, unsigned i)
{
    sim_restart(s, SIM_MNG, 0, 300 + 1500 * i);
}

static void stop_nodes(struct sim *s, unsigned i)
{
    for (unsigned k = 0; k < 3; k++)
        sim_pause(s, SIM_SEG, k, 700 + 1300 * i);
}

static void stop_the_manager(struct sim *s, unsigned i)
{
    sim_pause(s, SIM_MNG, 0, 500 + 1500 * i);
}

static void cut_off(struct sim *s, unsigned i)
{
    for (unsigned k = 0; k < 3; k++)
        sim_cut(s, SIM_SEG, k, SIM_MNG, 0, 500 + 2500 * i);
}

static void twelve(msec_t at_ms, void (*fault)(struct sim *s, unsigned i))
{
    for (uint64_t seed = 1; seed <= 12; seed++)
        cr_expect_geq(play_with(early(seed), at_ms, fault, (unsigned)seed % 4), 2);
}

static void at_the_opening(void (*fault)(struct sim *s, unsigned i))
{
    twelve(AT_OPENING_MS, fault);
}

Test(opening, everything_is_killed_at_the_opening)
{
    at_the_opening(kill_all);
}

Test(opening, the_manager_is_killed_at_the_opening)
{
    at_the_opening(kill_the_manager);
}

Test(opening, the_manager_stands_still_over_the_opening)
{
    at_the_opening(stop_the_manager);
}

Test(opening, nodes_stand_still_over_the_opening)
{
    at_the_opening(stop_nodes);
}

Test(opening, nodes_are_cut_off_over_the_opening)
{
    at_the_opening(cut_off);
}

/* ---- who draws is waited for, longer than others who cannot be reached ------------------ */

static void cut_off_for_long(struct sim *s, unsigned i)
{
    sim_cut(s, SIM_SEG, i % 3, SIM_MNG, 0, 7000);
}

static void kill_for_long(struct sim *s, unsigned i)
{
    sim_restart(s, SIM_SEG, i % 3, 7000);
}

static void impatient(void (*fault)(struct sim *s, unsigned i))
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct sim_opts o = early(seed);

        o.skip_after_ms = 1000;
        o.lost_after_ms = 12000;
        cr_expect_geq(play_with(o, AT_OPENING_MS, fault, (unsigned)seed), 2);
    }
}

Test(opening, nobody_is_let_in_before_those_whose_node_is_cut_off)
{
    impatient(cut_off_for_long);
}

Test(opening, nobody_is_let_in_before_those_whose_node_is_down)
{
    impatient(kill_for_long);
}

/* Clocks of nodes are ahead, or behind: each closes by its own, and people wait or draw. */
static void set_clocks(struct sim *s, unsigned i)
{
    static const int64_t offs[] = { 50, 3000, -3000, 60 * 60000 };

    for (unsigned k = 0; k < 3; k++)
        sim_clock(s, SIM_SEG, k, k == 0 || i == 3 ? offs[i] : 0);
}

Test(opening, clocks_of_nodes_differ_at_the_opening)
{
    twelve(8000, set_clocks);
}

static void storm(struct sim_faults f, unsigned managers, msec_t lost_after_ms)
{
    uint64_t draws = 0;

    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sim_opts o = early(seed);

        o.faults = f;
        o.managers = managers;
        o.lost_after_ms = lost_after_ms;
        o.leave_share = 0.2;
        draws += play(o);
    }
    cr_expect_geq(draws, 20);
}

Test(opening, managers_die_at_the_opening)
{
    storm((struct sim_faults){ .mng_restart = 30 }, 1, 0);
}

Test(opening, another_manager_opens)
{
    storm((struct sim_faults){ .mng_restart = 15, .store_away = 6, .store_failover = 6 }, 3, 0);
}

Test(opening, nodes_die_before_and_after_the_draw)
{
    storm((struct sim_faults){ .seg_kill = 30, .link_break = 20, .pause = 10 }, 1, 0);
}

Test(opening, nodes_are_emptied)
{
    storm((struct sim_faults){ .drain = 30, .queue_pause = 5, .queue_put = 5 }, 1, 0);
}

Test(opening, a_lost_segment_draws_when_rebuilt)
{
    storm((struct sim_faults){ .seg_lose = 8, .router_restart = 5 }, 1, 9000);
}
