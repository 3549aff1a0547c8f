/* render.h: a view of a moment to the waiting page's HTML: the values of page.html's names. Pure.
 * b: fails (buf.h) without memory. */
#ifndef SEGQ_ROUTER_PAGE_RENDER_H
#define SEGQ_ROUTER_PAGE_RENDER_H

#include "router/page/page.h"

/* The whole document. */
void page_put(const struct page *p, struct buf *b, const struct page_view *v);
/* The same as gzip. */
void page_put_gzip(const struct page *p, struct buf *b, const struct page_view *v);
/* "/q/login?r=1&return=..."; flag: "" or "?r=1" */
void page_put_path(struct buf *b, const char *queue, const char *flag, const char *target);
/* Appends "&claim=..."; n 0: nothing. */
void page_put_claim(struct buf *b, const char *claim, size_t n);

#endif
