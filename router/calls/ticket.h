/* ticket.h: the ticket of a call: read where a call names it, and for the answer of a flow that
 * ended with one, or of a ticket that waits. Shell. */
#ifndef SEGQ_ROUTER_TICKET_H
#define SEGQ_ROUTER_TICKET_H

#include "router/links/flows.h"

/* The flow of a call about the ticket `text`, and *t: that ticket. NULL: it has been answered:
 * the ticket is not ours, or there is too much to do (`busy`: that answer's detail). */
struct rflow *ticket_call(struct router *r, struct httpd_req *req, struct slice text,
                          rflow_done done, const char *busy, struct token *t);
/* All but its text: a ticket that its segment says to be waiting, or the router in its place. */
void ticket_waiting(struct api_ticket *t, const struct route_owner *o, const struct token *of,
                    const struct place_ans *a);
/* rf ended with FLOW_OK or FLOW_EXISTING. False: its queue went away in this moment. The pointers
 * of t are borrowed from the map and from rf. */
SQ_CHECK bool router_ticket(struct router *r, const struct rflow *rf, struct api_ticket *t);

/* The pieces of its answer's body, if it ended with FLOW_OK and the ticket waits; NULL: api_ticket()
 * has to say it. */
const struct waiting_text *ticket_pieces(struct router *r, const struct rflow *rf);

#endif
