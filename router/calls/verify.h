/* verify.h: GET /v1/verify: may the bearer of this pass come in? For the gateway in front
 * of the protected service (nginx auth_request and its like). Answered from memory: the
 * keys are in the map, good signatures are remembered (passes.h), revoked passes and
 * extended sessions are known, so are the rules by which people need no pass
 * (bypass.h). Nobody is asked, but now and then to renew a good pass (session.h), and the segment
 * of a pass that is good once (its own `use`, or use=once of the gate): it writes the first use
 * down, and knows it when it is asked again.
 *
 *   204 and X-Segq-... lines | 401 no good pass | 403 revoked, of another queue, bound to another
 *   method or path, used before
 *   redirect=1: 303 to the waiting page instead of 401 and 403, if the queue is known and a
 *   browser goes to a page (visit.h); a program gets 401 and 403, which it can read. Not of a pass
 *   that was used: its room would send the browser back
 *
 * Never anything else but 503, before the first map and while such a segment cannot be asked:
 * gateways take other answers for an error, and an error must not let in.
 *
 * Only trusted proxies are believed what they tell of the request that they ask about
 * (X-Original-URI, the client's address), and only they are told of a bypass: anybody could
 * write these lines. */
#ifndef SEGQ_ROUTER_VERIFY_H
#define SEGQ_ROUTER_VERIFY_H

#include "router/state/router.h"

/* Answers, or begins a flow that will. */
void verify(struct router *r, struct httpd_req *req, const struct http_req *q);

#endif
