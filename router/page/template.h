/* template.h: a template: HTML with {{names}}, checked when it is read. Pure.
 *
 *   {{x}}                 the value of x, escaped for text and quoted attributes
 *   {{{x}}}               as it is: only the values that are marked raw may stand so
 *   {{#x}} ... {{/x}}     only if x is not empty; {{^x}} ... {{/x}} only if it is */
#ifndef SEGQ_ROUTER_PAGE_TMPL_H
#define SEGQ_ROUTER_PAGE_TMPL_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "router/page/gzip.h"

struct page_slot { /* a name that a template may use */
    const char *name;
    bool raw;
};

struct page_str { /* a value */
    const char *p; /* NULL: empty */
    size_t n;
    const struct gzip_ready *ready; /* packed text behind it, ready made; NULL: nothing */
    bool apart;                     /* a secret: not compressed with anything else (gzip.h) */
};

/* Where a document that is to be compressed is cut. */
#define PAGE_CUTS_MAX 24
struct page_cuts {
    size_t n;
    struct page_cut {
        size_t at;    /* bytes of the document before it */
        size_t plain; /* bytes behind it that stay as they are */
        const struct gzip_ready *ready; /* then this, which is not in the document; or NULL */
    } v[PAGE_CUTS_MAX];
};

struct page_tmpl;

/* text is copied. *out is for page_tmpl_free(). SQ_EINVAL names the line. */
SQ_CHECK int page_tmpl_new(struct page_tmpl **out, const char *text, size_t n,
                           const struct page_slot *slots, size_t n_slots, struct err *e);
void page_tmpl_free(struct page_tmpl *t);
/* values[i]: of slots[i]. cuts (n 0): what is ready is left out, and said there, and so is what
 * stays apart; NULL: the whole document. */
void page_tmpl_put(const struct page_tmpl *t, struct buf *b, const struct page_str *values,
                   struct page_cuts *cuts);

/* Text as HTML, in an element or a quoted attribute. Control characters become spaces. */
void page_put_html(struct buf *b, const char *p, size_t n);
/* Text as a JSON string, with its quotes, that may stand inside <script>. */
void page_put_json(struct buf *b, const char *p, size_t n);

#endif
