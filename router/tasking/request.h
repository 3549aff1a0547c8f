/* request.h: a request about tasks: who may, and the file that answers it. Shell. */
#ifndef SEGQ_ROUTER_TASKING_REQUEST_H
#define SEGQ_ROUTER_TASKING_REQUEST_H

#include "router/api/request.h"
#include "router/tasking/tasking.h"

/* a: API_TASKS or API_TASK. */
void task_request(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                  const struct api_req *a);

#endif
