/* site_check.h: joins that a service of the operator's lets in (challenge.verify_url of a queue), in place of
 * work. Shell.
 *
 *   428 challenge_required    `verify` true: the join comes again with the service's token, as header
 *                             `segq-verify`
 *   403 challenge_unverified  it says no
 *   403 challenge_used        the token has let another person in
 *
 * A join is held while the service is asked. A token is good once: whoever sends it again, for the
 * same subject, finds the place of the first time, at this router without another question. If the
 * service cannot be asked, verify_fallback of the queue says what follows: let in, work, or 503. */
#ifndef SEGQ_ROUTER_CALLS_SITE_CHECK_H
#define SEGQ_ROUTER_CALLS_SITE_CHECK_H

#include "router/api/json_body.h"
#include "router/links/flows.h"
#include "router/state/router.h"

struct join_then { /* continuation of a join that may go in */
    void (*go)(struct router *r, struct httpd_req *req, const struct route_queue *q, struct join_body *b,
               unsigned lane, rflow_done end);
    unsigned lane;
    rflow_done end;
};

struct site_held; /* a join whose service is asked */

struct site_work { /* challenge, should the fallback be work */
    struct door_ask ask;
    struct challenge_terms terms; /* texts: of the map at hand */
    unsigned level;
};

/* For a join of a queue with verify_url that needs a challenge. b: with the name of its Idempotency-Key. True:
 * it may go in now, and has a name in b; false: it has been answered, or is held. */
SQ_CHECK bool site_check(struct router *r, struct httpd_req *req, const struct http_req *q,
                         const struct route_queue *queue, struct join_body *b, const struct site_work *w,
                         const struct join_then *then);
/* Composes the answer that asks for work. n: bytes of the challenge; 0: too many were asked for. */
void work_answer(struct router *r, const char *text, size_t n);
/* The client of a held join has gone. */
void site_held_gone(struct site_held *h);

#endif
