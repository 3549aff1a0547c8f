/* submit.h: tasks are submitted: one, or many in a list or in lines (NDJSON). Shell.
 * One with an Idempotency-Key or a name may be asked again after a lost link: that makes no second
 * task. Of many, each row has an answer of its own. */
#ifndef SEGQ_ROUTER_SUBMIT_H
#define SEGQ_ROUTER_SUBMIT_H

#include "router/task_requests/call.h"

void submit_start(struct tasking *t, const struct task_asked *x);
/* By a claim in its body. False: there is none; nothing is answered. */
SQ_CHECK bool submit_by_claim(struct tasking *t, const struct task_asked *x);
/* The request itself is a call, to be passed on and answered as the target answers it. ours: its
 * Authorization is for us. */
void submit_request(struct tasking *t, const struct task_asked *x, bool ours);
void submit_batch(struct tasking *t, const struct task_asked *x);

#endif
