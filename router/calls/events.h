/* events.h: GET /v1/tickets/{token}/events: who listens is told of the ticket at once. Shell around
 * listeners.h (who is told what, when) and event.h (how it is said).
 *
 *   GET --a look: the node is asked--> it waits or was let in: 200, open --> its ticket
 *                                 '--> anything else: as a poll is answered
 *   no room (max_listeners, conns_per_addr), or not the connection for it: 204 and Retry-After
 *
 *   open  --its place moved, its words changed--> the ticket
 *         --let in, or gone--> that, and the end
 *         --this router stops--> when to come back, and the end */
#ifndef SEGQ_ROUTER_EVENTS_H
#define SEGQ_ROUTER_EVENTS_H

#include "router/state/router.h"

struct listening;

SQ_CHECK int events_init(struct router *r);
void events_fini(struct router *r); /* connections are gone */
/* Answers, or begins a flow that will. token: as it stands in the path. */
void events_start(struct router *r, struct httpd_req *req, const struct http_req *q,
                  struct slice token);
/* The client of an open answer has gone. */
void events_gone(struct router *r, struct listening *x);
/* All are told when to come back, and where they listen ends. */
void events_drain(struct router *r);

#endif
