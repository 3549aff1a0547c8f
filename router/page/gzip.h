/* gzip.h: a document as one gzip member (RFC 1952), put together of parts: ready ones, which were
 * compressed once, new ones, and plain ones. Pure (zlib).
 *
 * Each part stands alone: none refers to the bytes of another. So ready parts fit everywhere, and
 * the length of the whole tells nothing about a secret in a plain part, whatever an attacker gets
 * into the others (BREACH). */
#ifndef SEGQ_ROUTER_PAGE_GZIP_H
#define SEGQ_ROUTER_PAGE_GZIP_H

#include "common/base/buf.h"
#include "common/base/err.h"

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

#endif
