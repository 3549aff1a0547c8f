/* numbers.h: numbers and times in the reader's language. Pure. Appended to b. */
#ifndef SEGQ_ROUTER_PAGE_NUMBERS_H
#define SEGQ_ROUTER_PAGE_NUMBERS_H

#include "common/base/buf.h"
#include "router/page/texts.h"

/* 1234567 -> 1,234,567, or what this language puts between. In page.js Intl.NumberFormat does. */
void page_put_number(const struct page_lang *l, struct buf *b, uint64_t v);
/* The text with {n} put in. */
void page_put_filled(const struct page_lang *l, struct buf *b, enum page_text_id id, uint64_t n);
/* "about 5 minutes"; below 0: not known */
void page_put_eta(const struct page_lang *l, struct buf *b, int64_t eta_s);
/* For how long a place is kept without its page; nothing if that is less than a minute, or not known. */
void page_put_kept(const struct page_lang *l, struct buf *b, uint32_t s);
/* The steps of page_put_eta(), as page.js reads them: members of a list. */
void page_put_eta_steps(struct buf *b);

#endif
