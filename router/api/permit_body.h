/* permit_body.h: what the body of a submission says if it asks for a permit: a ticket of a line of
 * people, in the words of tasks. Pure (jansson).
 *
 *   kind  "permit"; without it the body is a task's
 *   htm, htu  method and path that the pass shall be good for (common/ticket/bound.h)
 *   use   "once": it is good once
 * and what a join has (json_body.h). */
#ifndef SEGQ_ROUTER_PERMIT_BODY_H
#define SEGQ_ROUTER_PERMIT_BODY_H

#include "router/api/json_body.h"

bool body_is_permit(const char *p, size_t n);
/* Of such a body: the head of what is kept of its ticket, into b. 0; SQ_EINVAL and *why: one
 * sentence of ours; SQ_ENOMEM. */
SQ_CHECK int body_permit(struct join_body *b, const char *p, size_t n, const char **why);

#endif
