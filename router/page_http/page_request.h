/* page_request.h: requests of the waiting page: their ticket, and what they ask for. Shell.
 *
 *   GET without a ticket       joins if a browser goes there itself (visit.h); the ticket
 *                              goes into a cookie. All others (previews of links, crawlers,
 *                              browsers that do not say so) get the door: a page whose
 *                              script, or button, sends the form join
 *   GET with one               polls
 *   GET by a program for JSON  the same, if page_compat says so (room_json.h)
 *   GET r=1 without one        the cookie did not come back: says so, never joins again
 *   HEAD, fetched ahead        joins nobody; HEAD looks at no ticket
 *   POST join                  joins anew; from the door: unless there is a ticket by now
 *   POST tell                  the ticket gets a contact
 *   POST enter, leave          polls, leaves; only for requests of our own page
 *
 * The ticket is in a cookie for /q/{queue} alone; an admitted browser gets the pass in
 * another, and is sent to where it wanted to go.
 *
 * A router that stands alone answers at other addresses, too; behind a gate "/" is the site's:
 *
 *   GET / with a good pass     "You are in", and for how long
 *   GET /                      what this is; the rooms that the operator names
 *   GET of any other address   by a browser: there is no such page */
#ifndef SEGQ_ROUTER_PAGE_REQUEST_H
#define SEGQ_ROUTER_PAGE_REQUEST_H

#include "router/api/request.h"
#include "router/state/router.h"

/* API_PAGE, API_WORDS, API_WORKER, API_FORM, API_UNFORM. Answers, or begins a flow that will. */
void page_start(struct router *r, struct httpd_req *req, const struct http_req *q,
                const struct api_req *a);

/* API_START: the page at "/". */
void page_front(struct router *r, struct httpd_req *req, const struct http_req *q);
/* API_NO_PATH: a page for a browser that shows it; false: it is none, not answered. */
SQ_CHECK bool page_nothing(struct router *r, struct httpd_req *req, const struct http_req *q);

#endif
