/* permit_body.h: what the body of a submission says if it asks for a permit: a ticket of a line of
 * people, in the words of tasks. Pure (jansson).
 *
 *   kind  "permit"; without it the body is a task's
 *   htm, htu  method and path that the pass shall be good for (common/ticket/bound.h)
 *   use   "once": it is good once
 * and what a join has (json_body.h). */
#ifndef SEGQ_ROUTER_PERMIT_BODY_H
#define SEGQ_ROUTER_PERMIT_BODY_H

#include "common/http/http.h"
#include "router/api/json_body.h"

/* By its bytes: nearly every body of a task is told at once. */
bool body_may_be_permit(const char *p, size_t n);
/* Reads the bindings of the pass. 0; SQ_EUNKNOWN: it is no permit's body; SQ_EINVAL and *why: one
 * sentence of ours. */
SQ_CHECK int body_permit(struct bound *b, struct slice body, const char **why);
/* A join with that: it stands in j's head. */
void body_bind(struct join_body *j, const struct bound *b);

#endif
