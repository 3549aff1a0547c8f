/* Calls about a task: it is looked at, waited for, read, changed or cancelled; by its token, or by the
 * caller's own name for it. Shell. */
#ifndef SEGQ_ROUTER_SINGLE_TASK_H
#define SEGQ_ROUTER_SINGLE_TASK_H

#include "router/task_requests/call.h"

/* TASK_COUNT: how many wait in a queue. */
void one_count(struct tasking *t, const struct task_asked *x);
/* TASK_FIRST: which tasks of it would start, in order. */
void one_first(struct tasking *t, const struct task_asked *x);
/* TASK_LOOK, TASK_RESULT, TASK_NAMED. */
void one_look(struct tasking *t, const struct task_asked *x);
/* TASK_CANCEL, TASK_UNNAME, TASK_PATCH. */
void one_change(struct tasking *t, const struct task_asked *x);

#endif
