/* contact.h: how a ticket is told that its turn comes, where its queue has `turn_notice`. Shell.
 *
 *   PUT /v1/tickets/{token}/contact      {"contact": a text or an object}: while it waits; again: this
 *                                        one counts. "push_key": the key that a browser subscribed with
 *   DELETE /v1/tickets/{token}/contact   it is told nothing (more) */
#ifndef SEGQ_ROUTER_CALLS_CONTACT_H
#define SEGQ_ROUTER_CALLS_CONTACT_H

#include "router/api/request.h"
#include "router/links/flows.h"
#include "router/state/contact.h"
#include "router/state/router.h"

/* Answers, or begins a flow that will. */
void contact_start(struct router *r, struct httpd_req *req, const struct http_req *q, const struct api_req *a);

/* Makes (malloc) what a FLOW_CONTACT asks, with room for a contact of n bytes; 0: it shall be told nothing (more). of
 * NULL: its queue is not known. NULL: no memory. */
struct contact_ask *contact_ask_new(const struct map_queue *of, size_t n);
/* Seals the contact, of no more bytes, for the ticket of this text (TOKEN_TEXT_LEN characters). */
void contact_ask_fill(struct contact_ask *ask, const struct router *r, const char *text, const struct contact_in *c);

#endif
