/* dispatch.h: each HTTP request to the file that answers it, within its address's budget. Shell. */
#ifndef SEGQ_ROUTER_DISPATCH_H
#define SEGQ_ROUTER_DISPATCH_H

#include "router/state/router.h"

/* For the public HTTP server; its ctx is the struct router. */
extern const struct httpd_calls dispatch_calls;
/* For the one at listen_tasks; likewise. */
extern const struct httpd_calls dispatch_task_calls;

/* Has a map and reaches a segment node: worth sending players to. */
bool router_is_ready(const struct router *r);

#endif
