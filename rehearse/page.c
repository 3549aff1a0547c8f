/* page.c: see the header. Pure. */
#include "rehearse/page.h"

void page_html(struct buf *b, const struct played *v, size_t n)
{
    buf_str(b, "<!doctype html><meta charset=utf-8><title>Rehearsal</title><pre>");
    report_table(b, v, n);
    buf_str(b, "</pre>\n");
}
