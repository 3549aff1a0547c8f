/* places_answer.h: answers of a group's page (places_page.h): its places, why there are none, the way in
 * of a turn. Shell. */
#ifndef SEGQ_ROUTER_PLACES_ANSWER_H
#define SEGQ_ROUTER_PLACES_ANSWER_H

#include "router/calls/places_call.h"
#include "router/page_http/page_answer.h"

/* A page without places, into r->ans. */
void places_show(struct router *r, const struct page_ask *a, enum page_state state, uint32_t retry_ms);
/* A places_tell. c->page: the struct page_ask. */
void places_answer(struct places_call *c, const struct rflow *rf);
/* May people be sent there behind their turn in q (NULL: none)? */
bool places_lead_to(struct router *r, const struct route_queue *q, const char *to);

#endif
