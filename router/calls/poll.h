/* poll.h: GET /v1/tickets/{token}. The hot path: nothing is allocated for a waiting ticket, and
 * a forged token costs one MAC. Shell. */
#ifndef SEGQ_ROUTER_POLL_H
#define SEGQ_ROUTER_POLL_H

#include "router/state/router.h"

/* Answers, or begins a flow that will. token: as it stands in the path. */
void poll_start(struct router *r, struct httpd_req *req, struct slice token);

#endif
