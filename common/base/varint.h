/* varint.h: numbers as bytes of seven bits, the lowest first, as protobuf has them. Pure. */
#ifndef SEGQ_VARINT_H
#define SEGQ_VARINT_H

#include "common/base/buf.h"

#define VARINT_MAX 10 /* bytes of the longest */

/* The end of what was written: at most VARINT_MAX bytes. */
static inline uint8_t *varint_put(uint8_t *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

/* Appends it. */
static inline void buf_varint(struct buf *b, uint64_t v)
{
    uint8_t *to = buf_room(b, VARINT_MAX);

    if (to != NULL)
        b->len = (size_t)(varint_put(to, v) - b->data);
}

/* The byte behind the number; NULL: it is cut short, or longer than VARINT_MAX. */
static inline const uint8_t *varint_get(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
    uint64_t x = 0;

    for (unsigned shift = 0; shift < 7 * VARINT_MAX && p < end; shift += 7) {
        uint8_t b = *p++;

        x |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            *v = x;
            return p;
        }
    }
    return NULL;
}

#endif
