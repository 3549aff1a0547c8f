/* contact.h: how a ticket is told that its turn comes, where its queue has `turn_notice`. Shell.
 *
 *   PUT /v1/tickets/{token}/contact      {"contact": a text or an object}: while it waits; again: this
 *                                        one counts
 *   DELETE /v1/tickets/{token}/contact   it is told nothing (more) */
#ifndef SEGQ_ROUTER_CALLS_CONTACT_H
#define SEGQ_ROUTER_CALLS_CONTACT_H

#include "router/api/request.h"
#include "router/links/flows.h"
#include "router/state/router.h"

/* Answers, or begins a flow that will. */
void contact_start(struct router *r, struct httpd_req *req, const struct http_req *q, const struct api_req *a);

/* Fills what a FLOW_CONTACT asks for the ticket of this text (TOKEN_TEXT_LEN characters); *ask: zeroes. contact:
 * JSON, of CONTACT_MAX bytes at most; n 0: it shall be told nothing (more). */
void contact_ask_fill(struct contact_ask *ask, const struct router *r, const char *text, const struct map_queue *of,
                      struct slice contact);

#endif
