/* preview.h: the waiting page's states as an operator may look at them, with a ticket of queuemng's
 * (common/ticket/preview.h). Nobody takes a place by it: the document is in a sandbox that sends no
 * form, and asks for nothing. Shell.
 *
 *   GET /q/login?preview=paused&ticket=1795430569.0123... */
#ifndef SEGQ_ROUTER_PAGE_PREVIEW_H
#define SEGQ_ROUTER_PAGE_PREVIEW_H

#include "router/page_http/page_answer.h"

/* False: no preview is asked for; else it is answered. */
SQ_CHECK bool page_preview(struct router *r, struct httpd_req *req, const struct http_req *q,
                           const struct route_queue *queue, const struct page_ask *a);

#endif
