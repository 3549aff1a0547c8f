/* schedule.h: schedules of a queue are defined, looked at, listed and deleted, where its tasks are.
 * Shell.
 * What is put or deleted is so in every pool whose pattern matches the queue: a schedule that was made
 * before a more specific pool goes on in the older one until then. */
#ifndef SEGQ_ROUTER_SCHEDULE_H
#define SEGQ_ROUTER_SCHEDULE_H

#include "router/task_requests/call.h"

void schedule_put(struct tasking *t, const struct task_asked *x);
/* Fires it now. */
void schedule_run(struct tasking *t, const struct task_asked *x);
/* GET, DELETE of one; the list. */
void schedule_ask(struct tasking *t, const struct task_asked *x);

#endif
