/* take.h: workers take tasks, each with a lease. Pure. */
#ifndef SEGQ_TASK_TAKE_H
#define SEGQ_TASK_TAKE_H

#include "task/engine/engine.h"

struct taken {
    task_no no;
    uint64_t lease; /* settle.h wants it */
    msec_t until;   /* the end of the lease, on the node's axis */
    uint64_t body;
    unsigned attempt; /* 1: the first */
};

/* At most n of the queue's tasks start, as limits and turns allow. lease_ms: 0 = the pool's.
 * How many; 0 also if nobody knows the queue. SQ_ESTALE: not the owner any more.
 * They are the worker's only when the turn's records are written. */
int engine_take(struct engine *e, const struct trec_text *queue, unsigned n, uint32_t lease_ms,
                struct taken *out);
/* The same of one task of any queue: of each that has one, in its turn. */
int engine_take_any(struct engine *e, uint32_t lease_ms, struct taken *out);
/* Is there one? */
static inline bool engine_has_open(const struct engine *e)
{
    return !e->fenced &&
           (e->firsts > 0 || (e->tree.ring != 0 && allowance_lets(&e->allowance, e->at)));
}

#endif
