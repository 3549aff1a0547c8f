/* template.h: a template: HTML with {{names}}, checked when it is read, and how it is compressed. Pure
 * (zlib).
 *
 *   {{x}}                 the value of x, escaped for text and quoted attributes
 *   {{{x}}}               as it is: only the values that are marked raw may stand so
 *   {{#x}} ... {{/x}}     only if x is not empty; {{^x}} ... {{/x}} only if it is
 *
 * A document is one gzip member (RFC 1952), put together of parts: ready ones, which were compressed
 * once, new ones, and plain ones. Each part stands alone: none refers to the bytes of another. So ready
 * parts fit everywhere, and the length of the whole tells nothing about a secret in a plain part,
 * whatever an attacker gets into the others (BREACH). */
#ifndef SEGQ_ROUTER_PAGE_TMPL_H
#define SEGQ_ROUTER_PAGE_TMPL_H

#include "common/base/buf.h"
#include "common/base/err.h"

/* ---- gzip ---------------------------------------------------------------------------- */

struct gzip_ready { /* a text, and what it is compressed; zeroed: empty */
    struct buf text, packed;
    uint32_t crc;
    size_t shift; /* zlib's operator: as many bytes behind another checksum */
};

/* r->text is set. */
SQ_CHECK int gzip_ready_pack(struct gzip_ready *r, struct err *e);
void gzip_ready_fini(struct gzip_ready *r);

struct gzip; /* used again for each document */

SQ_CHECK int gzip_new(struct gzip **out, struct err *e);
void gzip_free(struct gzip *g); /* NULL is fine */

/* Packs a document into b, which fails (buf.h) without memory. */
void gzip_begin(struct gzip *g, struct buf *b);
void gzip_put(struct gzip *g, const void *p, size_t n);
void gzip_put_ready(struct gzip *g, const struct gzip_ready *r);
void gzip_put_plain(struct gzip *g, const void *p, size_t n); /* n <= 65535 */
void gzip_end(struct gzip *g);

/* ---- templates ----------------------------------------------------------------------- */

struct page_slot { /* a name that a template may use */
    const char *name;
    bool raw;
};

struct page_str { /* a value */
    const char *p; /* NULL: empty */
    size_t n;
    const struct gzip_ready *ready; /* packed text behind it, ready made; NULL: nothing */
    bool apart;                     /* a secret: not compressed with anything else */
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
