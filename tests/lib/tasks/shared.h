/* shared.h: the partition's records in a Redis (task/redis/writes.h) that loses commands and answers,
 * gets commands twice or late, and fails over to its replica. The replica has what was acknowledged
 * (WAIT), and perhaps no more. Redis itself is a model of task/redis/writes.h, without bodies. */
#ifndef SEGQ_TASKS_SHARED_H
#define SEGQ_TASKS_SHARED_H

#include "common/base/rng.h"
#include "task/engine/engine.h"
#include "task/redis/writes.h"

struct shared_redis {
    char fence[64];
    uint64_t epoch, n, groups; /* groups: in the log */
    struct buf snap, next;     /* records, framed */
    struct buf log;            /* groups: length 4, records */
};

struct shared {
    struct shared_redis now, replica;
    struct writes w, ghost; /* ghost: of the owner before, whose last command may come yet */
    struct rng *rng;        /* ref */
    double lost;            /* chance of a fault, of each command */
    uint64_t epoch, opened;
    uint64_t again, failovers, snapshots;
    bool broken; /* an old owner was believed, or the new one was not */
};

void shared_init(struct shared *s, struct rng *rng, double lost);
void shared_fini(struct shared *s);
/* A new owner: the fence is up. What the old one had under way may come later. */
void shared_open(struct shared *s);
/* All records, in their order; < 0: the first refusal. */
int shared_read(const struct shared *s, int (*record)(struct engine *e, const uint8_t *p, size_t n),
                struct engine *e);
/* The records of e->log, and perhaps a snapshot: until Redis says that it has them. */
void shared_write(struct shared *s, const struct engine *e);
/* The owner dies over the same: they have come, or not. */
void shared_dies(struct shared *s, const struct engine *e, bool come);

#endif
