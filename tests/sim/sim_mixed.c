/* sim_mixed.c: swarm testing: tests/lib/sim/plan.h says what a seed is. On all cores.
 *   FIRST=1 SEEDS=1000 sim_mixed      these seeds, after those of seeds.txt
 *   SEED=n sim_mixed                  one, with its trace if it fails
 *   SEED=n WITH="pause=0" sim_mixed   the same with other figures (any knob of plan.c)
 *   SEED=n MINIMISE=1 sim_mixed       a failing one, made as small as it gets
 *   JOBS=n                            processes; as many as there are cores
 * Last line: "sim_mixed: N seeds passed, M failed". */
#include "tests/lib/sim/workers.h"
#include "tests/lib/sim/minimise.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN_MAX 3 /* failures whose trace is printed, by each process */
#define OLD_MAX   1000

struct seeds { /* those that once failed, then a range */
    uint64_t old[OLD_MAX], n_old, first;
};

static uint64_t seed_of(void *ctx, uint64_t i)
{
    const struct seeds *s = ctx;

    return i < s->n_old ? s->old[i] : s->first + (i - s->n_old);
}

/* One a line; "#" begins a comment. */
static void read_old(struct seeds *s, const char *path)
{
    FILE *f = fopen(path, "r");
    char line[256];

    if (f == NULL)
        return;
    while (fgets(line, sizeof(line), f) != NULL && s->n_old < OLD_MAX)
        if (strtoull(line, NULL, 10) != 0)
            s->old[s->n_old++] = strtoull(line, NULL, 10);
    fclose(f);
}

static uint64_t env(const char *name, uint64_t def)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : def;
}

static void print_sum(const struct swarm_sum *x)
{
    double hours = (double)x->virtual_ms / 3.6e6;

    printf("%llu steps, %llu messages, %llu joined, %llu polls answered by routers (%llu of nodes "
           "that could not be asked), %llu admitted, "
           "%llu moves, %llu links broken, %llu restarts, %llu kills, %llu answers 503, %llu joins "
           "of uncertain order\n%.1f virtual hours, %.1f s of CPU: %.2f s an hour\n"
           "digest %016" PRIx64 " (a move of code leaves it as it is)\n",
           (unsigned long long)x->steps, (unsigned long long)x->messages,
           (unsigned long long)x->joined, (unsigned long long)x->known,
           (unsigned long long)x->kept, (unsigned long long)x->admitted,
           (unsigned long long)x->moves, (unsigned long long)x->links_broken,
           (unsigned long long)x->restarts, (unsigned long long)x->crashes,
           (unsigned long long)x->unavailable, (unsigned long long)x->relaxed, hours,
           x->cpu_s, hours > 0 ? x->cpu_s / hours : 0.0, x->digest);
}

static bool known_knobs(const char *with)
{
    struct sim_plan p;
    const char *bad;

    plan_draw(&p, 1);
    if (with == NULL || plan_change(&p, with, &bad))
        return true;
    fprintf(stderr, "sim_mixed: no such knob: %s\n", bad);
    return false;
}

int main(void)
{
    const char *old = getenv("SEEDS_FILE"), *with = getenv("WITH");
    struct seeds seeds = { .first = env("FIRST", 1) };
    uint64_t n = env("SEEDS", 1000), seed = env("SEED", 0);
    struct swarm w = { seed_of, &seeds, .with = with, .shown_max = SHOWN_MAX };
    struct swarm_sum sum = { 0 };

    if (!known_knobs(with))
        return 2;
    if (seed != 0 && env("MINIMISE", 0) != 0)
        return !sim_minimise(seed, with);
    if (seed != 0) {
        seeds.first = seed;
        n = 1;
    } else {
        read_old(&seeds, old != NULL ? old : "tests/sim/seeds.txt");
    }
    w.n = seeds.n_old + n;
    w.jobs = (unsigned)env("JOBS", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    swarm_run(&w, &sum);
    print_sum(&sum);
    printf("sim_mixed: %llu seeds passed, %llu failed\n", (unsigned long long)sum.passed,
           (unsigned long long)sum.failed);
    return sum.failed != 0;
}
