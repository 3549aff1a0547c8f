/* minimise.c: see the header. Whatever is taken away also changes every random number that
 * follows; so each smaller plan is tried with some other seeds, too. */
#include "tests/lib/sim/minimise.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/sim/workers.h"

#define OTHER_SEEDS 8
#define ROUNDS      4

struct mini {
    struct sim_plan now; /* fails */
    char why[400];
    unsigned tries;
};

/* "I4: ticket 17-3 ..." and "I4: ticket 2-8 ..." are the same way to fail. */
static bool same_kind(const char *a, const char *b)
{
    size_t n = strcspn(a, " 0123456789");

    return strncmp(a, b, n < 2 ? 2 : n) == 0;
}

static bool accept(struct mini *m, struct sim_plan p)
{
    uint64_t seed = p.o.seed;
    char why[400];

    for (unsigned i = 0; i < OTHER_SEEDS; i++) {
        p.o.seed = i == 0 ? seed : seed % 1000000 + i * 1000000ull;
        m->tries++;
        if (swarm_try(&p, why, sizeof(why)) || !same_kind(m->why, why))
            continue;
        m->now = p;
        snprintf(m->why, sizeof(m->why), "%s", why);
        return true;
    }
    return false;
}

static bool set(struct mini *m, const struct knob *k, double v)
{
    struct sim_plan p = m->now;

    if (knob_get(&p, k) == v)
        return false;
    knob_set(&p, k, v);
    if (!accept(m, p))
        return false;
    printf("  %s=%g: %s\n", k->name, v, m->why);
    fflush(stdout);
    return true;
}

static const struct knob *named(const char *name)
{
    for (size_t i = 0; i < plan_n_knobs; i++)
        if (strcmp(plan_knobs[i].name, name) == 0)
            return &plan_knobs[i];
    abort();
}

/* Half of it, three quarters, one less: as often as it goes on failing. */
static bool shrink(struct mini *m, const char *name, double least)
{
    static const double parts[] = { 0.5, 0.75, 0.9 };
    const struct knob *k = named(name);
    bool any = false;

    for (size_t i = 0; i < ARRAY_LEN(parts);) {
        double v = (double)(int64_t)(knob_get(&m->now, k) * parts[i]);

        if (v >= least && set(m, k, v))
            any = true;
        else
            i++;
    }
    return any;
}

static bool round_of(struct mini *m)
{
    bool any = false;

    for (size_t i = 0; i < plan_n_knobs; i++)
        if (plan_knobs[i].fault)
            any |= set(m, &plan_knobs[i], 0);
    any |= set(m, named("positions"), 0);
    any |= set(m, named("queues"), 1);
    any |= set(m, named("lanes"), 1);
    any |= set(m, named("routers"), 1);
    any |= shrink(m, "players", 1);
    any |= shrink(m, "run_ms", 500);
    any |= shrink(m, "segs", 1);
    return any;
}

bool sim_minimise(uint64_t seed, const char *with)
{
    struct mini m = { 0 };
    struct sim_plan was;
    const char *bad;
    char text[1024];

    plan_draw(&was, seed);
    m.now = was;
    if (with != NULL)
        (void)plan_change(&m.now, with, &bad);
    if (swarm_try(&m.now, m.why, sizeof(m.why))) {
        printf("seed %llu does not fail\n", (unsigned long long)seed);
        return false;
    }
    printf("seed %llu: %s\n", (unsigned long long)seed, m.why);
    for (unsigned i = 0; i < ROUNDS && round_of(&m); i++)
        continue;
    plan_print(&was, &m.now, text, sizeof(text));
    printf("%u tries; the smallest: %s\nSEED=%llu WITH=\"%s\" sim_mixed\n", m.tries, m.why,
           (unsigned long long)seed, text);
    return true;
}
