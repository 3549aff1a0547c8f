/* leave.h: DELETE /v1/tickets/{token}. Shell. */
#ifndef SEGQ_ROUTER_LEAVE_H
#define SEGQ_ROUTER_LEAVE_H

#include "router/state/router.h"

/* Answers, or begins a flow that will. token: as it stands in the path. */
void leave_start(struct router *r, struct httpd_req *req, struct slice token);

#endif
