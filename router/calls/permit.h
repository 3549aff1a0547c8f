/* permit.h: permits: tickets of a line of people, in the words of tasks. Shell.
 *
 *   POST /v1/queues/{queue}/tasks  with "kind":"permit": a join
 *   GET, DELETE /v1/tasks/{task}   of a ticket's token: a poll, a leave
 * The body has what a join's has (json_body.h), and
 *   kind  "permit"; without it the body is a task's
 *   htm, htu  method and path that the pass shall be good for (common/ticket/bound.h)
 *   use   "once": it is good once
 * All rules of joins hold (claims, lanes, limits, phases); no task node has a part in it. */
#ifndef SEGQ_ROUTER_PERMIT_H
#define SEGQ_ROUTER_PERMIT_H

#include "router/api/request.h"
#include "router/state/router.h"

/* The kind of a call of tasks (API_TASKS, API_TASK): API_PERMIT (perhaps), API_PERMIT_ONE, API_BAD_METHOD
 * of such a one; else unchanged. With a server's token it is never a permit. */
enum api_call permit_call(const struct http_req *q, const struct api_req *a);
/* Both answer, or begin a flow that will. arg: of a->call. False: it is no permit, but a task, and
 * nothing is answered. */
SQ_CHECK bool permit_join(struct router *r, struct httpd_req *req, const struct http_req *q,
                 const struct api_req *a);
void permit_one(struct router *r, struct httpd_req *req, const struct http_req *q,
                struct slice arg);

#endif
