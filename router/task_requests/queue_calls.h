/* queue_calls.h: requests about what a queue has beside its tasks: groups of them, schedules, and the feed of
 * their starts and ends. Shell. */
#ifndef SEGQ_QUEUE_CALLS_H
#define SEGQ_QUEUE_CALLS_H

#include "router/task_requests/call.h"

/* A group of a queue's tasks: how many are in each state; it is sealed, or cancelled. */
void group_ask(struct tasking *t, const struct task_asked *x);

/* Schedules of a queue are defined, looked at, listed and deleted, where its tasks are.
 * What is put or deleted is so in every pool whose pattern matches the queue: a schedule that was made
 * before a more specific pool goes on in the older one until then. */

void schedule_put(struct tasking *t, const struct task_asked *x);
/* Fires it now. */
void schedule_run(struct tasking *t, const struct task_asked *x);
/* GET, DELETE of one; the list. */
void schedule_ask(struct tasking *t, const struct task_asked *x);

/* GET /v1/queues/{queue}/tasks/events: a server that may read hears of each start and each end of a
 * queue's tasks. Shell around watch.h, with its bounds, beats, and end.
 *
 *   id: 117...44
 *   data: {"task":"...","state":"running","attempts":1,"at":...}
 *   event: gap      data: {"after":"117...40"}; some behind that are not known any more
 *
 * A TASK_FEED each FEED_EACH_MS asks for what is behind the last number, at once where there was more than an
 * answer has; the node keeps the newest (task/store/queue_extras.h). A client that has not taken the last ones is not
 * asked for. Last-Event-ID is the number with which it begins. */

#define FEED_EACH_MS 200

#define FEEDS_OPEN_MAX 512 /* at a router; a token begins no more of them than are free then */

void feed_start(struct tasking *t, const struct task_asked *x);

#endif
