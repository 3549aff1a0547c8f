/* front.h: what a router that stands alone says at its front door, and to people at an address
 * where nothing is. Behind a gate "/" is the site's. Shell.
 *
 *   GET / with a good pass      "You are in", and for how long
 *   GET /                       what this is; the rooms that the operator names
 *   GET of any other address    by a browser: there is nothing here */
#ifndef SEGQ_ROUTER_ROOM_FRONT_H
#define SEGQ_ROUTER_ROOM_FRONT_H

#include "router/state/router.h"

/* API_START: the page at "/". */
void page_front(struct router *r, struct httpd_req *req, const struct http_req *q);
/* API_NO_PATH: a page for a browser that shows it; false: it is none, not answered. */
SQ_CHECK bool page_nothing(struct router *r, struct httpd_req *req, const struct http_req *q);

#endif
