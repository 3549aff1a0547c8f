/* join.h: calls of a queue: its figures, and joins, with what the waiting page shares of them;
 * permits, which are joins and tickets in the words of tasks. Shell.
 *
 *   GET /v1/queues/{queue}           answered from memory
 *   POST /v1/queues/{queue}/tickets  a join */
#ifndef SEGQ_ROUTER_JOIN_H
#define SEGQ_ROUTER_JOIN_H

#include "router/api/request.h"
#include "router/links/flows.h"
#include "router/state/router.h"

void queue_get(struct router *r, struct httpd_req *req, struct slice queue);
/* Answers, or begins a flow that will. */
void join_start(struct router *r, struct httpd_req *req, const struct http_req *q,
                struct slice queue);
/* The same with an answer of one's own, and a body that was read. */
void join_ask(struct router *r, struct httpd_req *req, const struct http_req *q, struct slice queue,
              struct join_body *b, rflow_done end);
/* The first step of a join whose rules are kept: counts it and fills rf->flow. A join that
 * replaces a ticket and has no subject gets a key in b. */
void join_flow(struct router *r, struct rflow *rf, const struct route_queue *q,
               struct join_body *b, unsigned lane);
/* claim_lane() with this router's keys and clock. */
SQ_CHECK int join_lane(struct router *r, const struct route_queue *q, struct join_body *b,
                       unsigned *lane, const char **why);
/* Behind it: is the ticket that it replaces one of the request's device, if it has one? */
SQ_CHECK bool join_may_replace(const struct router *r, const struct http_req *q,
                               const struct join_body *b, const char **why);

/* ---- permits: tickets of a line of people, in the words of tasks ----
 *   POST /v1/queues/{queue}/tasks  with "kind":"permit": a join
 *   GET, DELETE /v1/tasks/{task}   of a ticket's token: a poll, a leave
 * The body has what a join's has (request.h), and
 *   kind  "permit"; without it the body is a task's
 *   htm, htu  method and path that the pass shall be good for (common/ticket/pass.h)
 *   use   "once": it is good once
 * All rules of joins hold (claims, lanes, limits, phases); no task node has a part in it. */

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
