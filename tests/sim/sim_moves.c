/* sim_moves.c: partitions of tasks move between nodes, under callers and workers, while nodes and
 * the manager are killed at any moment, links break, and messages of different links overtake one
 * another (tests/lib/moverig.h has what is judged).
 *   SEEDS=1000 FIRST=1 sim_moves    so many seeds, from this one
 *   SEED=n sim_moves                one */
#include "tests/lib/movedays.h"

#include "tests/lib/criterion.h"

#include "tests/lib/quiet.h"

#define SHARDS 4u
#if defined(__SANITIZE_ADDRESS__)
#define SEEDS 60u
#else
#define SEEDS 400u
#endif
#define STEPS 60

static uint64_t env(const char *name, uint64_t def)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : def;
}

/* Each node has what the others have, or one more; nothing is on its way. */
static void check_spread(struct mv *w)
{
    uint32_t least = UINT32_MAX, most = 0;

    for (int i = 0; i < PR_NODES; i++) {
        uint32_t n = 0;

        each_part (w->node[i].t, p) {
            n++;
            if (p->life != PART_OWNED || p->out != NULL)
                MV_BAD(w, "partition %u is still on its way", p->no);
        }
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    if (most > least + 1)
        MV_BAD(w, "a node has %u partitions, another one %u", most, least);
}

static bool run(uint64_t seed, uint64_t sum[8])
{
    struct mv *w = mv_new(seed);
    bool good;

    mv_draw(w);
    for (unsigned i = 0; i < STEPS && w->r->why[0] == '\0'; i++) {
        mv_happen(w, 12, NULL);
        pr_run(w->r, 100 * (1 + rng_below(&w->r->rng, 20)));
    }
    mv_heal(w);
    mv_judge(w);
    mv_judge_beats(w);
    if (w->r->why[0] == '\0')
        check_spread(w);
    good = w->r->why[0] == '\0';
    if (!good)
        fprintf(stderr, "seed %lu: %s (SEED=%lu sim_moves)\n", seed, w->r->why, seed);
    sum[0] += w->n_tasks;
    sum[1] += w->taken;
    sum[2] += w->kills;
    sum[3] += w->stale + w->again;
    for (unsigned i = 0; i < PR_NOS; i++)
        for (unsigned k = 1; k < 200; k++)
            sum[4] += w->owner[i][k] != 0 && k > 1;
    sum[5] += w->ticks;
    sum[6] += w->notices;
    sum[7] += w->chained;
    mv_free(w);
    return good;
}

static void shard(unsigned from)
{
    uint64_t only = env("SEED", 0), first = only != 0 ? only : env("FIRST", 1);
    uint64_t n = only != 0 ? 1 : env("SEEDS", SEEDS), bad = 0, sum[8] = { 0 };

    if (only == 0)
        quiet_log();
    for (uint64_t i = from; i < n; i += SHARDS)
        bad += !run(first + i, sum);
    printf("%lu tasks, %lu taken, %lu kills, %lu asked again, %lu later epochs, %lu ticks, "
           "%lu ends told, %lu next tasks\n", sum[0], sum[1], sum[2], sum[3], sum[4], sum[5], sum[6], sum[7]);
    cr_assert_eq(bad, 0);
}

Test(sim_moves, seeds_1)
{
    shard(0);
}

Test(sim_moves, seeds_2)
{
    shard(1);
}

Test(sim_moves, seeds_3)
{
    shard(2);
}

Test(sim_moves, seeds_4)
{
    shard(3);
}
