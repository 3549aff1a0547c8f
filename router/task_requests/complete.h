/* complete.h: a target says later how the attempt ended that it answered with "pending", or that it
 * needs more time. What it may say so by is the right of that attempt, in the path; whether it is
 * good, only the node knows that has the task. Shell. */
#ifndef SEGQ_ROUTER_COMPLETE_H
#define SEGQ_ROUTER_COMPLETE_H

#include "router/task_requests/call.h"

/* op: TASK_COMPLETE, TASK_PROLONG. */
void complete_start(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                    enum task_op op, const struct attempt_right *right);

#endif
