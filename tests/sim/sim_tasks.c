/* sim_tasks.c: a partition of tasks with callers, workers, kills, torn journals, jumping
 * clocks and moves; after each step the invariants of tests/lib/tasks/model.h.
 *   SEEDS=1000 FIRST=1 sim_tasks    so many seeds, from this one (100 under asan)
 *   SEED=n sim_tasks                one */
#include "tests/lib/tasks/world.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>

#define SHARDS 4u /* criterion runs them side by side */
#if defined(__SANITIZE_ADDRESS__)
#define SEEDS 100u
#else
#define SEEDS 1000u
#endif

static uint64_t env(const char *name, uint64_t def)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : def;
}

/* Every SHARDS-th seed. */
static void run(unsigned shard)
{
    uint64_t only = env("SEED", 0), first = only != 0 ? only : env("FIRST", 1);
    uint64_t n = only != 0 ? 1 : env("SEEDS", SEEDS), bad = 0;
    uint64_t steps = 0, entries = 0, started = 0, kills = 0, torn = 0, moves = 0, jumps = 0;
    uint64_t again = 0, failovers = 0, sleeps = 0, no_units = 0;
    static struct world w;

    for (uint64_t i = shard; i < n; i += SHARDS) {
        if (!world_run(&w, first + i)) {
            fprintf(stderr, "seed %lu: %s (SEED=%lu sim_tasks)\n", first + i, w.why, first + i);
            bad++;
        }
        steps += w.steps;
        entries += w.entries;
        started += w.started;
        kills += w.kills;
        torn += w.torn;
        moves += w.moves;
        jumps += w.jumps;
        sleeps += w.sleeps;
        no_units += w.no_units;
        again += w.shared.again;
        failovers += w.shared.failovers;
        world_free(&w);
    }
    printf("%lu steps, %lu entries, %lu starts, %lu kills, %lu torn groups, %lu moves, "
           "%lu jumps, %lu sleeps, %lu commands to Redis again, %lu failovers, "
           "%lu without room for their units\n",
           steps, entries, started, kills, torn, moves, jumps, sleeps, again, failovers, no_units);
    cr_assert_eq(bad, 0);
}

Test(sim_tasks, seeds_1)
{
    run(0);
}

Test(sim_tasks, seeds_2)
{
    run(1);
}

Test(sim_tasks, seeds_3)
{
    run(2);
}

Test(sim_tasks, seeds_4)
{
    run(3);
}
