/* workers.h: many seeds on all cores: one process each, so that a seed that crashes is one
 * failed seed and no more. */
#ifndef SEGQ_SIMFORK_H
#define SEGQ_SIMFORK_H

#include "tests/lib/sim/plan.h"

struct swarm_sum {
    uint64_t passed, failed;
    uint64_t steps, messages, joined, admitted, relaxed, links_broken, restarts, crashes;
    uint64_t unavailable, moves, terms, known, kept;
    uint64_t virtual_ms;
    uint64_t digest; /* of all runs together, in any order */
    double cpu_s;
};

struct swarm {
    uint64_t (*seed_of)(void *ctx, uint64_t i); /* the i-th seed */
    void *ctx;
    uint64_t n;
    unsigned jobs;
    const char *with; /* changes of every plan; NULL */
    unsigned shown_max; /* failures whose trace is printed */
    bool quiet; /* no progress */
};

/* Prints failures and progress to stdout. */
void swarm_run(const struct swarm *w, struct swarm_sum *sum);

/* One plan in a process of its own: false, and why, if it fails, crashes or never ends. */
bool swarm_try(const struct sim_plan *p, char *why, size_t cap);

#endif
