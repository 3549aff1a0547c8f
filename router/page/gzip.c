/* gzip.c: see gzip.h. Each part ends at a byte (Z_SYNC_FLUSH), and begins with an empty window. */
#include "router/page/gzip.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define READY_LEVEL 9
#define NEW_LEVEL   4  /* for pages of some 6 KB: level 9 saves 60 bytes more */
#define NEW_WINDOW  12 /* bits: small ones are cleared quickly */
#define NEW_MEM     5

struct gzip {
    z_stream z;
    struct buf *b;
    uint32_t crc, len;
};

/* ---- ready parts ---- */

/* The raw stream of a whole text, up to a byte's end, and not the last of its document. */
static bool pack(z_stream *z, struct buf *b, const void *p, size_t n)
{
    size_t most = deflateBound(z, n) + 16;

    if (buf_reserve(b, most) == NULL)
        return false;
    z->next_in = (Bytef *)(uintptr_t)p;
    z->avail_in = (uInt)n;
    z->next_out = b->data + b->len;
    z->avail_out = (uInt)most;
    if (deflate(z, Z_SYNC_FLUSH) != Z_OK || z->avail_in > 0 || z->avail_out == 0)
        return false;
    b->len += most - z->avail_out;
    return true;
}

int gzip_ready_pack(struct gzip_ready *r, struct err *e)
{
    z_stream z = { 0 };
    bool good;

    if (r->text.failed ||
        deflateInit2(&z, READY_LEVEL, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        return err_set(e, SQ_ENOMEM, "out of memory");
    good = pack(&z, &r->packed, r->text.data, r->text.len);
    deflateEnd(&z);
    r->crc = (uint32_t)crc32(0, r->text.data, (uInt)r->text.len);
    r->shift = crc32_combine_gen((z_off_t)r->text.len);
    return good ? 0 : err_set(e, SQ_ENOMEM, "out of memory");
}

void gzip_ready_fini(struct gzip_ready *r)
{
    buf_fini(&r->text);
    buf_fini(&r->packed);
}

/* ---- documents ---- */

int gzip_new(struct gzip **out, struct err *e)
{
    struct gzip *g = calloc(1, sizeof(*g));

    if (g == NULL || deflateInit2(&g->z, NEW_LEVEL, Z_DEFLATED, -NEW_WINDOW, NEW_MEM,
                                  Z_DEFAULT_STRATEGY) != Z_OK) {
        free(g);
        return err_set(e, SQ_ENOMEM, "out of memory");
    }
    *out = g;
    return 0;
}

void gzip_free(struct gzip *g)
{
    if (g != NULL)
        deflateEnd(&g->z);
    free(g);
}

void gzip_begin(struct gzip *g, struct buf *b)
{
    static const uint8_t head[10] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255 };

    g->b = b;
    g->crc = g->len = 0;
    buf_append(b, head, sizeof(head));
}

void gzip_put(struct gzip *g, const void *p, size_t n)
{
    if (n == 0)
        return;
    if (deflateReset(&g->z) != Z_OK || !pack(&g->z, g->b, p, n))
        g->b->failed = true;
    g->crc = (uint32_t)crc32(g->crc, p, (uInt)n);
    g->len += (uint32_t)n;
}

void gzip_put_ready(struct gzip *g, const struct gzip_ready *r)
{
    buf_append(g->b, r->packed.data, r->packed.len);
    g->crc = (uint32_t)crc32_combine_op(g->crc, r->crc, r->shift);
    g->len += (uint32_t)r->text.len;
}

void gzip_put_plain(struct gzip *g, const void *p, size_t n)
{
    uint8_t head[5] = { 0, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)~n, (uint8_t)(~n >> 8) };

    assert(n <= 65535);
    buf_append(g->b, head, sizeof(head));
    buf_append(g->b, p, n);
    g->crc = (uint32_t)crc32(g->crc, p, (uInt)n);
    g->len += (uint32_t)n;
}

/* An empty last block, the checksum, the length. */
void gzip_end(struct gzip *g)
{
    uint8_t tail[10] = { 3, 0 };

    for (int i = 0; i < 4; i++) {
        tail[2 + i] = (uint8_t)(g->crc >> 8 * i);
        tail[6 + i] = (uint8_t)(g->len >> 8 * i);
    }
    buf_append(g->b, tail, sizeof(tail));
    g->b = NULL;
}
