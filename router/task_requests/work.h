/* work.h: workers take tasks, and say what became of them: done, given back, still at it; one at a
 * time, or many rows. Shell.
 * What was taken for a worker that has gone meanwhile goes back at once (ask.h).
 *
 * A target, too, says later how the attempt ended that it answered with "pending", or that it needs
 * more time. What it may say so by is the right of that attempt, in the path; whether it is good,
 * only the node knows that has the task. */
#ifndef SEGQ_ROUTER_WORK_H
#define SEGQ_ROUTER_WORK_H

#include "router/task_requests/call.h"

void work_take(struct tasking *t, const struct task_asked *x);
/* TASK_PROGRESS: what its worker says of it. */
void work_progress(struct tasking *t, const struct task_asked *x);
/* TASK_ACK, TASK_NACK, TASK_EXTEND. */
void work_one(struct tasking *t, const struct task_asked *x);
void work_settle(struct tasking *t, const struct task_asked *x);
/* TASK_COMPLETE, TASK_PROLONG. */
void complete_start(struct tasking *t, const struct task_asked *x, const struct attempt_right *right);

#endif
