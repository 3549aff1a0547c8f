/* place.h: which node gets the next segment.
 *
 * The emptiest by memory, in steps of one percent; beside its neighbour in the chain only
 * if the others are clearly fuller (a machine that goes should not take a long run of the
 * line with it); then the one with fewest segments, so that many small queues spread. */
#ifndef SEGQ_QUEUEMNG_CHAIN_PLACE_H
#define SEGQ_QUEUEMNG_CHAIN_PLACE_H

#include "common/base/base.h"

struct mng;
struct mnode;
struct mseg;

/* The node for a segment next to `near` (NULL ok), not `except`; draws: for a pre-queue;
 * opens_ms: whose clock is not past this; 0: any. NULL: no room anywhere. */
struct mnode *place_pick(struct mng *m, const struct mseg *near,
                         const struct mnode *except, bool draws, int64_t opens_ms);

#endif
