/* places_page.h: one page for a person in several lines: /q/NAME of a group of the configuration
 * (groups), if no queue has that name. Shell.
 *
 *   GET without places  joins all its queues if a browser goes there itself (visit.h), else shows
 *                       the door; the group's name (group_name_write()) goes into a cookie
 *   GET with places     polls them; the first turn's pass goes into the cookie of passes, and the
 *                       browser to where that queue's page leads
 *   POST join, leave    of all of them
 *   POST enter          of a group that keeps the others: goes where `queue` leads, whose turn is there
 *
 * With scripts deploy/page/places.js asks for the same page, and takes its places out of it. */
#ifndef SEGQ_ROUTER_PLACES_PAGE_H
#define SEGQ_ROUTER_PLACES_PAGE_H

#include "router/api/request.h"
#include "router/page_http/page_answer.h"
#include "router/state/router.h"

/* Answers, or begins flows that will. a: of this request; taken over. */
void places_page(struct router *r, struct httpd_req *req, const struct http_req *q,
                 const struct api_req *call, const struct cfg_group *g, struct page_ask *a);

#endif
