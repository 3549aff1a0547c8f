/* files.h: what the waiting page is made of: its files (the program's own, or an operator's)
 * and the queues' page definitions, read when they are first wanted. Shell. */
#ifndef SEGQ_ROUTER_PAGE_FILES_H
#define SEGQ_ROUTER_PAGE_FILES_H

#include "router/page/page.h"
#include "router/state/router.h"

/* Reads the files; cfg is not kept. */
SQ_CHECK int page_room_new(struct page_room **out, const struct router_cfg *cfg,
                           struct err *e);
void page_room_free(struct page_room *p); /* NULL is fine */

/* The queue's page definition as the map has it; NULL: nothing is said. Borrowed until the
 * next call. */
const struct page_def *page_room_def(struct router *r, const struct route_queue *q);
/* Finds its style sheet, ready to send; NULL: none. Borrowed likewise. */
const struct gzip_ready *page_room_style(struct router *r, const struct route_queue *q);
const struct page *page_room_page(const struct router *r);

#endif
