/* varint.h: numbers as bytes of seven bits, the lowest first, as protobuf has them. Pure. */
#ifndef SEGQ_VARINT_H
#define SEGQ_VARINT_H

#include "common/base/base.h"

#define VARINT_MAX 10 /* bytes of the longest */

/* The end of what was written: at most VARINT_MAX bytes. */
static inline uint8_t *varint_put(uint8_t *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

#endif
