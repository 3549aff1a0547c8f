/* site_check.h: joins that a service of the operator's lets in (challenge.verify_url of a queue), in place of
 * work. Shell.
 *
 *   428 challenge_required    `verify` true: the join comes again with the service's token, as header
 *                             `segq-verify`
 *   403 challenge_unverified  it says no
 *   403 challenge_used        the token has let another person in
 *
 * On the waiting page the widget's token comes with the form `join`; the same holds, and the page says it.
 *
 * A join is held while the service is asked. A token is good once: whoever sends it again, for the
 * same subject, finds the place of the first time, at this router without another question. If the
 * service cannot be asked, verify_fallback of the queue says what follows: let in, work, or 503. */
#ifndef SEGQ_ROUTER_CALLS_SITE_CHECK_H
#define SEGQ_ROUTER_CALLS_SITE_CHECK_H

#include "router/api/request.h"
#include "router/links/flows.h"
#include "router/state/router.h"

struct site_work { /* challenge, should the fallback be work */
    struct door_ask ask;
    struct challenge_terms terms; /* texts: of the map at hand */
    unsigned level;
};

#define SITE_AGAIN_MS 10000 /* SITE_NO_SERVICE: told to come then */

enum site_no { SITE_NO_TOKEN, SITE_NO_PERSON, SITE_NO_MORE_USES, SITE_NO_ROOM, SITE_NO_SERVICE, SITE_NO_QUEUE,
               SITE_WORK /* a challenge in its place */ };

struct join_then { /* continuation of a join: it may go in, or not */
    void (*go)(struct router *r, struct httpd_req *req, const struct route_queue *q, struct join_body *b,
               const struct join_then *then);
    unsigned lane;
    rflow_done end;
    /* NULL: a call of the API, which is answered by a problem. q: NULL if there is none. */
    void (*refuse)(struct router *r, struct httpd_req *req, const struct route_queue *q, enum site_no why,
                   const struct site_work *w, const struct join_then *then);
    void *page; /* owned once it is held (malloc); go takes it over; NULL: the API */
};

struct site_held; /* a join whose service is asked */

/* For a join of a queue with verify_url that needs a challenge. b: with the name of its Idempotency-Key. said:
 * the token; p NULL: none came. True: it may go in now, and has a name in b; false: it has been answered, or
 * (*held) is held, and then->page with it. */
SQ_CHECK bool site_check(struct router *r, struct httpd_req *req, const struct http_req *q,
                         const struct route_queue *queue, struct join_body *b, struct slice said,
                         const struct site_work *w, const struct join_then *then, bool *held);
/* Composes the answer that asks for work. n: bytes of the challenge; 0: too many were asked for. */
void work_answer(struct router *r, const char *text, size_t n);
/* The client of a held join has gone. */
void site_held_gone(struct site_held *h);

#endif
