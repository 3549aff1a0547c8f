/* queue.h: queues by name and number, their lanes' names, and the state of a queue as routers,
 * nodes and operators see it. */
#ifndef SEGQ_QUEUEMNG_STATE_QUEUE_H
#define SEGQ_QUEUEMNG_STATE_QUEUE_H

#include "common/wire/msg_router_manager.h"

struct map_phase;
struct mng;
struct mqueue;
struct queue_def;

/* 1 if the definition names none. */
unsigned def_lane_count(const struct queue_def *d);
/* i < def_lane_count(). */
const char *def_lane_name(const struct queue_def *d, unsigned i);
/* NULL: no such queue (any more). */
struct mqueue *queue_by_id(const struct mng *m, queue_id id);
/* By name; NULL: none, or it is deleted. */
struct mqueue *queue_find(const struct mng *m, const char *name);
/* By name, one that was deleted and can be restored; NULL: none. */
struct mqueue *queue_deleted(const struct mng *m, const char *name);
/* From now on queue_find() finds it. SQ_ENOMEM: it does not. */
SQ_CHECK int queue_name(struct mng *m, const struct mqueue *q);
/* From now on queue_find() does not find it. */
void queue_unname(struct mng *m, const struct mqueue *q);
/* True: nobody is released before it opens. */
bool sched_holds(const struct mqueue *q);
/* True: its lanes need an open tail. */
bool queue_wants_room(const struct mqueue *q);
/* People may join now. */
bool queue_takes_joins(const struct mqueue *q);
/* enum queue_state: what routers are to do. */
uint8_t queue_map_state(const struct mqueue *q);
/* Why, and the times that people are shown. */
struct map_phase queue_map_phase(const struct mqueue *q);
/* The name that GET /v1/queues/{queue} says. */
const char *queue_public_state(const struct mqueue *q);
/* ms: the longest interval that a person is told while poll_max holds. */
uint32_t poll_max_longest(const struct mqueue *q);

#endif
