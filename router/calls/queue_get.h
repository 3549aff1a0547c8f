/* queue_get.h: GET /v1/queues/{queue}: answered from memory. Shell. */
#ifndef SEGQ_ROUTER_QUEUE_GET_H
#define SEGQ_ROUTER_QUEUE_GET_H

#include "router/state/router.h"

void queue_get(struct router *r, struct httpd_req *req, struct slice queue);

#endif
