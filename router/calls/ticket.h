/* ticket.h: the ticket that a flow ended with, for its answer. Shell. */
#ifndef SEGQ_ROUTER_TICKET_H
#define SEGQ_ROUTER_TICKET_H

#include "router/links/flows.h"

/* rf ended with FLOW_OK or FLOW_EXISTING. False: its queue went away in this moment. What t
 * points to is borrowed from the map and from rf. */
SQ_CHECK bool router_ticket(struct router *r, const struct rflow *rf, struct api_ticket *t);

#endif
