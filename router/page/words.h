/* words.h: texts for a reader: the operator's in place of ours; those of the script. Pure. */
#ifndef SEGQ_ROUTER_PAGE_WORDS_H
#define SEGQ_ROUTER_PAGE_WORDS_H

#include "router/page/page.h"

struct page_words {
    const char *title, *message; /* "": none */
    const char *now;             /* the queue's message in this language; "": as for all */
};
/* The operator's, in the page's language `tag`. */
struct page_words page_words_for(const struct page_def *d, const char *tag);
/* The operator's text below all: the message of the moment (NULL or "": none), in the reader's
 * language if there is one, then the page's own. */
void page_put_message(struct buf *b, const char *now, const struct page_words *w);
/* Writes the texts that may change while people wait, as JSON: title and message in this language. */
void page_put_words(const struct page *p, struct buf *b, size_t lang,
                    const struct page_def *def, const char *message, uint32_t version);
/* The texts that the script shows: the last member of its data, and the data's end. */
void page_put_script_texts(struct buf *b, const struct page_lang *l);

#endif
