/* plan.h: what a seed draws: rules, crowd, faults. */
#ifndef SEGQ_TASKS_PLAN_H
#define SEGQ_TASKS_PLAN_H

#include "common/base/rng.h"
#include "task/engine/pool.h"

struct plan {
    struct task_rules rules;
    unsigned queues, keys, below, priorities; /* how many of each are used */
    unsigned steps;
    uint32_t step_ms;    /* a step takes up to so long */
    uint32_t lease_ms;
    double submit, take, settle, other; /* chances of each thing said; eight tries a step */
    double batch;        /* tasks of a take */
    double unique;       /* with a unique key */
    double named, delayed, at_wall, special; /* special: with something of its own */
    double fail, vanish, late; /* workers: nack; never come back; come after the lease */
    double unseen;             /* routers: nobody was there to get it */
    double kill, whole, refuse, down, snapshot, move, jump; /* whole: of the last group */
    double sleep; /* of the machine, while the node runs, and while it is down */
    double redefine, tell; /* other limits of keys; another rate of the partition */
    double costly;         /* tasks that cost more than one unit, */
    uint64_t cost_most;    /* up to so many */
    double settles;        /* attempts whose true cost is said */
    double offered;        /* tasks that stand in several queues */
    bool shared;           /* store: redis */
    double lost;           /* of the commands to that Redis, and their answers */
};

/* Some rates in units, as the 3 * UNIT_RATES_MAX numbers of rules have them; which are in calendar windows, of zone 1. */
uint64_t plan_draw_units(uint64_t *units, struct rng *g);
void plan_draw_tasks(struct plan *p, uint64_t seed);

#endif
