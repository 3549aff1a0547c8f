/* submit.h: tasks are submitted: one, or many in a list or in lines (NDJSON). Shell.
 * One with an Idempotency-Key or a name may be asked again after a lost link: that makes no second
 * task. Of many, each row has an answer of its own. */
#ifndef SEGQ_ROUTER_SUBMIT_H
#define SEGQ_ROUTER_SUBMIT_H

#include "router/tasking/tasking.h"

void submit_start(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                  struct slice queue);
/* By a claim in its body. False: there is none; nothing is answered. */
SQ_CHECK bool submit_by_claim(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                              struct slice queue);
/* The request itself is a call, to be passed on and answered as the target answers it. path: from a
 * slash on, with the query; ours: its Authorization is for us. */
void submit_request(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                    struct slice queue, struct slice path, bool ours);
void submit_batch(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                  struct slice queue);

#endif
