/* ticket.h: calls of a ticket, and what others share of them: the ticket read where a call names it,
 * and made for the answer of a flow that ended with one, or of a ticket that waits. Shell.
 *
 *   GET /v1/tickets/{token}      a poll. The hot path: nothing is allocated for a waiting ticket,
 *                                and a forged token costs one MAC
 *   DELETE /v1/tickets/{token}   a leave */
#ifndef SEGQ_ROUTER_TICKET_H
#define SEGQ_ROUTER_TICKET_H

#include "router/links/flows.h"
#include "router/state/router.h"

/* The flow of a call about the ticket `text`, and *t: that ticket. NULL: it has been answered:
 * the ticket is not ours or not this device's, or the router is overloaded (`busy`: that answer's detail). */
struct rflow *ticket_call(struct router *r, struct httpd_req *req, const struct http_req *q,
                          struct slice text, rflow_done done, const char *busy, struct token *t);
/* rf ended with FLOW_OK or FLOW_EXISTING. False: its queue went away in this moment. The pointers
 * of t are borrowed from the map and from rf. */
SQ_CHECK bool router_ticket(struct router *r, const struct rflow *rf, struct api_ticket *t);

/* Answers the poll or join of rf, which has ended, in place: if it found a ticket that waits, with
 * nothing special about it. rf has no request then any more. */
SQ_CHECK bool ticket_told(struct router *r, struct rflow *rf);

/* Polls of the API and of the page alike are heard of here. ticket_poll_times: the ms after which it may poll again,
 * if that is too often; else 0. */
SQ_CHECK uint32_t ticket_over_ms(struct router *r, const struct token *t);
/* The same for a call of the API; false: that has been answered. */
SQ_CHECK bool ticket_may_poll(struct router *r, struct httpd_req *req, const struct token *t);
/* A poll has been answered: it waits, and was told so long. */
void ticket_polled(struct router *r, const struct token *t, uint32_t told_ms);

/* Both answer, or begin a flow that will. token: as it stands in the path. */
void poll_start(struct router *r, struct httpd_req *req, const struct http_req *q, struct slice token);
void leave_start(struct router *r, struct httpd_req *req, const struct http_req *q, struct slice token);

#endif
