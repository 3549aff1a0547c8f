/* page_price.h: what the waiting page asks for before a join: work, or the widget of a service that tells
 * people from programs (`check` of the page, challenge.verify_url of the queue). Shell.
 *
 *   PAGE_WORK    workers solve the challenge, and the form join brings the answer
 *   PAGE_CHECK   the widget's token comes with the form, and the join is held while the service is
 *                asked (router/calls/challenge.h). Whom it refuses sees the widget again; while it
 *                cannot be asked verify_fallback holds: the door opens, PAGE_WORK, or PAGE_UNAVAILABLE */
#ifndef SEGQ_ROUTER_PAGE_PRICE_H
#define SEGQ_ROUTER_PAGE_PRICE_H

#include "router/calls/challenge.h"
#include "router/page_http/page_answer.h"

/* Shows the challenge, which the script solves; or whoever waits brings it back as it is. door: a ticket that
 * is there by then will do, so two tabs are one place. keys: tries at most. */
void page_work(struct router *r, struct httpd_req *req, const struct page_ask *a, const struct route_queue *q,
               bool door, struct slice challenge, uint64_t keys);
/* For site_check(): whoever is let in joins, others see why. */
struct join_then page_check_then(struct page_ask *a, unsigned lane);

#endif
