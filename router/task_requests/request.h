/* request.h: a request about tasks: who may, and the file that answers it. Shell. */
#ifndef SEGQ_TASK_REQUEST_H
#define SEGQ_TASK_REQUEST_H

#include "router/api/request.h"
#include "router/task_requests/tasking.h"

/* a: of tasks (api_is_of_tasks). servers: it came where servers ask; elsewhere a task's own token is
 * all that counts. */
void task_request(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                  const struct api_req *a, bool servers);

/* Once the tokens' file was read again: feeds end whose tokens may no more; so do takes that wait, with no tasks. */
void task_rights_changed(struct tasking *t);

/* q: of a request whose body is above HTTP_MAX_BODY, the head. Returns the bytes that it may have if a server asks
 * with a token that opens this call; see httpd_calls.on_large. */
uint64_t task_may_be_large(struct tasking *t, const struct http_req *q, bool *in_pieces);
/* False: not for want of a token, and it is not answered. */
SQ_CHECK bool task_refuse_large(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                                bool servers);

/* Refuses, as any submission, a caller without the token of a server that may submit somewhere: then an
 * address that is an endpoint's gets the same answer as one that is not. False: it may, and is not answered. */
bool task_refuse_stranger(struct tasking *t, struct httpd_req *req, const struct http_req *q, bool servers);

/* The request shows the token of a server that may submit to the queue. */
bool task_server_submits(struct tasking *t, const struct http_req *q, struct slice queue);

#endif
