/* events.h: GET /v1/tickets/{token}/events: who listens is told of the ticket at once. Shell around
 * listeners.h (who is told what, when).
 *
 *   GET --a look: the node is asked--> it waits or was let in: 200, open --> its ticket
 *                                 '--> anything else: as a poll is answered
 *   no room (max_listeners, conns_per_addr), or not the connection for it: 204 and Retry-After
 *
 *   open  --its place moved, its words changed--> the ticket
 *         --let in, or gone--> that, and the end
 *         --this router stops--> when to come back, and the end
 *
 * Server-sent events (WHATWG HTML, section 9.2):
 *
 *   id: PLACE                                      it waits there; 0: the place is not known
 *   data: {"token":"...","state":"waiting",...}    a ticket, as a poll tells it
 *
 *   event: gone                                    the ticket is over
 *   data: {"status":410,...}                       as a poll is answered
 *
 *   event: beat                                    nothing has changed; at the beginning, too:
 *   data: 15000                                    in so many ms the next one comes, or a ticket
 *
 *   event: away                                    this router stops
 *   data: {"poll_after_ms":2345}                   come back then
 *
 * The id is what a client says in Last-Event-ID when it comes again: it is never told a greater
 * place than that at once. */
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

/* An id as it was sent; 0: it is none of ours, or of no place. */
uint64_t event_id(struct slice v);

#endif
