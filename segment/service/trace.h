/* trace.h: an operator asks about a ticket: what the node knows, then its audit trail. */
#ifndef SEGQ_SEG_SERVICE_TRACE_H
#define SEGQ_SEG_SERVICE_TRACE_H

#include "segment/service/state.h"

/* Answers what is known now, and starts the search in the trail. */
void seg_trace(struct seg_service *s, struct node_peer *p, const struct msg_why *q);
/* Sends the lines that were found meanwhile. */
void seg_trace_tick(struct seg_service *s);

#endif
