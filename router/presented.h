/* presented.h: which of our passes a request presents. Shell: the router's keys, what it
 * remembers of passes, and what nodes have told of them. */
#ifndef SEGQ_PRESENTED_H
#define SEGQ_PRESENTED_H

#include "router/router_service.h"

/* Of Authorization (Bearer) and the cookie segq_pass the first that is ours: an application
 * may use Authorization itself. NULL: none is. Whether it is over or was revoked is not
 * looked at. Borrowed until the next call. */
const struct verdict *presented(struct router *r, const struct http_req *q);
/* When it is over: as it says, or later if its session was extended. */
int64_t presented_until_s(const struct router *r, const struct verdict *x);

#endif
