/* strays.h: tasks of a queue that are in the line of another pool than the queue's own, since an
 * operator made a more specific pool, or took one away, while they were in line. They stay where
 * their tokens say; calls and cancels go by the tokens, and who takes from the queue is given them
 * first, by questions to those partitions that do not wait. Shell.
 *
 * A pool that matches all queues is there in most clusters, and has no task of most queues. So a
 * partition is asked by one take at a time, and then not again for STRAYS_MS, unless it had some:
 * a stray that is tried again, or due, comes that much later. */
#ifndef SEGQ_ROUTER_STRAYS_H
#define SEGQ_ROUTER_STRAYS_H

#include "router/task_requests/tasking.h"

#define STRAYS_MS     5000
#define STRAYS_ASK_MS 1000 /* and its answer is waited for so long: it is in the way of a take */

/* Finds the next pool with workers that matches the queue, behind *place (0: its own), and is to be asked now;
 * the caller asks it. *place: where it is. NULL: none. */
const struct task_way *strays_next(struct tasking *t, struct slice queue, uint32_t *place);
/* Some were there: the next take asks it, too. */
void strays_found(struct tasking *t, struct slice queue, part_no part);

#endif
