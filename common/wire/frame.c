/* frame.c: the 16 bytes before every body. Lengths are checked against the caller's limit
 * here, before anybody reserves memory for a body that a stranger announced. */
#include "common/wire/frame.h"

#include <assert.h>

static uint64_t get_le(const uint8_t *p, unsigned n)
{
    uint64_t v = 0;

    while (n-- > 0)
        v = v << 8 | p[n];
    return v;
}

static void put_le(uint8_t *p, uint64_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++, v >>= 8)
        p[i] = (uint8_t)v;
}

int64_t frame_parse(const uint8_t *p, size_t n, size_t max_body, struct frame *f)
{
    size_t len;

    assert(max_body <= FRAME_MAX_BODY);
    /* The version byte is looked at as soon as it is there: garbage is refused at once
     * and not after it has been waited for. */
    if (n >= 5 && p[4] != FRAME_VERSION)
        return SQ_EPROTO;
    if (n < 4)
        return 0;
    len = get_le(p, 4);
    if (len > max_body)
        return SQ_ETOOBIG;
    if (n < FRAME_HEADER_BYTES || n - FRAME_HEADER_BYTES < len)
        return 0;
    f->version = p[4];
    f->flags = p[5];
    f->type = (uint16_t)get_le(p + 6, 2);
    f->rid = get_le(p + 8, 8);
    f->body = p + FRAME_HEADER_BYTES;
    f->len = len;
    return (int64_t)(FRAME_HEADER_BYTES + len);
}

size_t frame_need(const uint8_t *p, size_t n)
{
    return n < 4 ? FRAME_HEADER_BYTES : FRAME_HEADER_BYTES + (size_t)get_le(p, 4);
}

void frame_header(uint8_t out[FRAME_HEADER_BYTES], uint16_t type, uint8_t flags,
                  uint64_t rid, uint32_t body_len)
{
    put_le(out, body_len, 4);
    out[4] = FRAME_VERSION;
    out[5] = flags;
    put_le(out + 6, type, 2);
    put_le(out + 8, rid, 8);
}
