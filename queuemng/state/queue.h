/* queue.h: queues by name and number, their lanes' names, and the state of a queue as routers,
 * nodes and operators see it. */
#ifndef SEGQ_QUEUEMNG_STATE_QUEUE_H
#define SEGQ_QUEUEMNG_STATE_QUEUE_H

#include "common/wire/msg_router_manager.h"

struct map_phase;
struct mng;
struct mqueue;
struct queue_def;

unsigned def_lane_count(const struct queue_def *d);
const char *def_lane_name(const struct queue_def *d, unsigned i);
struct mqueue *queue_by_id(const struct mng *m, queue_id id);
struct mqueue *queue_find(const struct mng *m, const char *name);
struct mqueue *queue_deleted(const struct mng *m, const char *name);
/* May be found by it. */
SQ_CHECK int queue_name(struct mng *m, const struct mqueue *q);
void queue_unname(struct mng *m, const struct mqueue *q);
/* Nobody is released yet. */
bool sched_holds(const struct mqueue *q);
/* Its lanes have a tail. */
bool queue_wants_room(const struct mqueue *q);
bool queue_takes_joins(const struct mqueue *q);
uint8_t queue_map_state(const struct mqueue *q);
struct map_phase queue_map_phase(const struct mqueue *q);
/* As routers say it. */
const char *queue_public_state(const struct mqueue *q);
/* The longest that anybody is told, if the budget allows poll_max. */
uint32_t poll_max_longest(const struct mqueue *q);

#endif
