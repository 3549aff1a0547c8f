/* sim_told.c: positions of two people agree with their order in the line (I5), also while the
 * manager stands still or is killed, nodes are emptied or killed, and segments merge. */
#include "tests/lib/sim/sim_test.h"

#define ME   "sim_told"
#define RUNS 12

static struct sim *world(uint64_t seed)
{
    struct sim_opts o = { .seed = sim_seed(seed), .portion = sim_portion(seed), .segs = 3, .routers = 2, .capacity = 50,
                          .release_per_s = 10, .leave_share = 0.3, .idle_ms = 30000,
                          .claim_ms = 20000, .grace_ms = 20000, .pass_ttl_ms = 60000,
                          .poll_min_ms = 400, .poll_max_ms = 1000, .told = true };
    struct sim *s = sim_new(&o);

    sim_join(s, 0, 0, 400, 8000);
    sim_run(s, 10000);
    return s;
}

static void each(void (*fault)(struct sim *s, unsigned i))
{
    for (unsigned i = 0; i < RUNS; i++) {
        struct sim *s = world(i + 1);

        fault(s, i);
        sim_run(s, 20000);
        sim_finish(s, ME);
    }
}

static void nothing(struct sim *s, unsigned i)
{
    (void)s;
    (void)i;
}

Test(told, on_a_calm_day)
{
    each(nothing);
}

/* Longer than three heartbeats: its nodes come back to it one after the other. */
static void stop_the_manager(struct sim *s, unsigned i)
{
    sim_pause(s, SIM_MNG, 0, 500 + 400 * i);
}

Test(told, while_the_manager_stands_still)
{
    each(stop_the_manager);
}

static void kill_the_manager(struct sim *s, unsigned i)
{
    sim_restart(s, SIM_MNG, 0, 200 + 400 * i);
}

Test(told, while_the_manager_is_away)
{
    each(kill_the_manager);
}

static void empty_a_node(struct sim *s, unsigned i)
{
    sim_drain(s, i % 3, true);
    sim_run(s, 300);
    if (i % 2 == 0)
        sim_pause(s, SIM_MNG, 0, 300 + 300 * i);
}

Test(told, while_a_node_is_emptied)
{
    each(empty_a_node);
}

static void kill_a_node(struct sim *s, unsigned i)
{
    sim_restart(s, SIM_SEG, i % 3, 300 + 500 * i);
}

Test(told, while_a_node_is_down)
{
    each(kill_a_node);
}

/* Both ends notice late; what the manager sent before it did is lost. */
static void cut_a_node_off(struct sim *s, unsigned i)
{
    sim_cut(s, SIM_SEG, i % 3, SIM_MNG, 0, 300 + 500 * i);
    sim_run(s, 4000);
    sim_cut(s, SIM_SEG, (i + 1) % 3, SIM_MNG, 0, 300 + 500 * i);
}

Test(told, while_a_node_is_cut_off)
{
    each(cut_a_node_off);
}

static void many_leave(struct sim *s, unsigned i)
{
    (void)i;
    sim_leave_waiting(s, 0, 0.6);
}

Test(told, while_segments_merge)
{
    each(many_leave);
}

/* It has its links, and reports: but no position falls in it. */
static void a_disk_fails(struct sim *s, unsigned i)
{
    sim_disk_full(s, i % 3, 3000 + 500 * i);
}

Test(told, while_a_disk_fails)
{
    each(a_disk_fails);
}
