/* page.h: figures as one page of HTML that needs nothing else: light and dark, graphs in SVG.
 * Pure. */
#ifndef SEGQ_REHEARSE_PAGE_H
#define SEGQ_REHEARSE_PAGE_H

#include "rehearse/report.h"

void page_html(struct buf *b, const struct played *v, size_t n);

#endif
