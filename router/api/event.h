/* event.h: server-sent events (WHATWG HTML, section 9.2), as GET /v1/tickets/{token}/events sends
 * them. Pure.
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
#ifndef SEGQ_ROUTER_EVENT_H
#define SEGQ_ROUTER_EVENT_H

#include "common/base/buf.h"
#include "common/http/http.h"

#define EVENT_TYPE    "text/event-stream"
#define EVENT_HEADERS "X-Accel-Buffering: no\r\n" /* nginx */
#define EVENT_BEAT(ms) "event: beat\ndata: " #ms "\n\n" /* scripts hear no comments */

/* An id as it was sent; 0: it is none of ours, or of no place. */
uint64_t event_id(struct slice v);
/* Number in Last-Event-ID; 0 also without it. */
uint64_t event_last(const struct http_req *q);
/* The lines before the data, which goes behind it without a line end. name NULL: a ticket.
 * retry_ms 0: it stays as it was said. */
void event_begin(struct buf *b, const char *name, uint64_t id, uint32_t retry_ms);
void event_end(struct buf *b);

#endif
