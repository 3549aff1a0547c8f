/* queue_life.h: the life of a queue: made, emptied, gone for good. The operators' orders about
 * queues are core/queues.c. */
#ifndef SEGQ_QUEUEMNG_CHAIN_QUEUE_LIFE_H
#define SEGQ_QUEUEMNG_CHAIN_QUEUE_LIFE_H

#include "common/base/base.h"

struct mlane;
struct mng;
struct mqueue;

/* Without name and definition. NULL: no memory. */
struct mqueue *queue_new(struct mng *m, queue_id id);
/* Nodes and the store were told already. */
void queue_free(struct mng *m, struct mqueue *q);
/* Everybody in the lane is sent away; nodes that cannot be reached are told when they
 * report the segments. */
void segs_forget(struct mng *m, struct mlane *l);
/* For good: nodes, store and routers are told, and it is freed. */
void queue_gone(struct mng *m, struct mqueue *q);

#endif
