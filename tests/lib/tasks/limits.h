/* limits.h: the limits and weights of single keys that a seed draws, and which of them a key has, by
 * a reading of the patterns that is not the engine's. */
#ifndef SEGQ_TASKS_LIMITS_H
#define SEGQ_TASKS_LIMITS_H

#include "common/base/rng.h"
#include "common/task/rules.h"

#define LIMITS_MOST 5u

struct limits { /* pinned ones first, as an operator's list must be */
    struct key_limit v[LIMITS_MOST];
    uint32_t n;
};

/* In half of all cases none. */
void limits_draw(struct limits *l, struct rng *g);

struct key_place { /* key2 0: a key; both 0: the queue */
    unsigned queue, key1, key2;
};
/* What holds at one of the levels of the place: 0 the queue, 1 its key, 2 the key below. */
struct key_limit limits_of(const struct limits *l, const struct task_rules *r,
                           const struct key_place *k, unsigned level);

#endif
