/* sim_test.h: how a criterion test ends a simulation: with the trace if something broke. */
#ifndef SEGQ_SIM_TEST_H
#define SEGQ_SIM_TEST_H

#include "tests/lib/sim/sim.h"

#include "tests/lib/criterion.h"
#include <stdlib.h>

/* SEED=n in the environment replaces a test's own seed; FIRST=n: its seeds begin with that. */
static inline uint64_t sim_seed(uint64_t seed)
{
    const char *text = getenv("SEED"), *first = getenv("FIRST");

    if (text != NULL)
        return strtoull(text, NULL, 10);
    return first != NULL ? strtoull(first, NULL, 10) + seed - 1 : seed;
}

/* sim_opts.portion of a test's own seed: whatever goes in portions goes in one, or in several. */
static inline uint32_t sim_portion(uint64_t seed)
{
    return (const uint32_t[]){ 0, 1, 3, 50 }[sim_seed(seed) % 4];
}

static inline void sim_finish(struct sim *s, const char *program)
{
    bool ok = sim_ok(s);

    if (!ok)
        sim_report(s, stderr, program);
    sim_free(s);
    cr_assert(ok);
}

#endif
