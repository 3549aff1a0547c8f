/* phase.h: what a queue's phase (passthrough, reject, not open yet, pre-queue) means for a
 * request, where its state alone does not say it well enough. Shell. */
#ifndef SEGQ_ROUTER_PHASE_H
#define SEGQ_ROUTER_PHASE_H

#include "router/state/router.h"

/* True: no pass is needed for it. */
bool phase_is_free(const struct route_queue *q);
/* A join that is refused with a reason better than "closed": answered, true. */
SQ_CHECK bool phase_refused(struct router *r, struct httpd_req *req,
                            const struct route_queue *q);

#endif
