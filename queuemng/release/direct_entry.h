/* direct_entry.h: direct entry: a join that is let in with its own answer. The manager says
 * how near a place must be for that; routers hold such joins for a moment
 * (router/flow/flow.h). */
#ifndef SEGQ_QUEUEMNG_RELEASE_DIRECT_ENTRY_H
#define SEGQ_QUEUEMNG_RELEASE_DIRECT_ENTRY_H

#include "common/base/base.h"

struct mng;
struct mqueue;

/* People who may be let in now, by the queue's slots and its budget's. */
uint64_t queue_lets_in(const struct mng *m, const struct mqueue *q);
/* Places from the head whose people are let in with their join; 0: nobody is. */
uint64_t direct_entry_reach(const struct mng *m, const struct mqueue *q);

#endif
