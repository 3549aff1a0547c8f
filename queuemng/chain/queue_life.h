/* queue_life.h: the life of a queue: made, emptied, gone for good. The operators' orders about
 * queues are core/orders.c and core/deleted.c. */
#ifndef SEGQ_QUEUEMNG_CHAIN_QUEUE_LIFE_H
#define SEGQ_QUEUEMNG_CHAIN_QUEUE_LIFE_H

#include "common/base/base.h"

struct mlane;
struct mng;
struct mqueue;

struct mqueue *queue_new(struct mng *m, queue_id id);
void queue_free(struct mng *m, struct mqueue *q);
/* Everybody in the lane is gone. */
void segs_forget(struct mng *m, struct mlane *l);
/* For good; frees it. */
void queue_gone(struct mng *m, struct mqueue *q);

#endif
