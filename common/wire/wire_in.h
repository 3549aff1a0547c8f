/* wire_in.h: the bytes of protobuf, field by field, for those who read them by hand. Pure.
 *
 * A field is a tag varint (number << 3 | wire type) and a value: 0 = varint, 1 = eight bytes,
 * 2 = length and bytes, 5 = four bytes. */
#ifndef SEGQ_WIRE_IN_H
#define SEGQ_WIRE_IN_H

#include <string.h>

#include "common/base/base.h"
#include "common/base/bits512.h"
#include "common/base/buf.h"

/* Members of structs that are known by their offset and width. */

#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t load(const char *p, unsigned width)
{
    switch (width) {
    case 1:
        return *(const uint8_t *)p;
    case 2:
        return *(const uint16_t *)(const void *)p;
    case 4:
        return *(const uint32_t *)(const void *)p;
    default:
        return *(const uint64_t *)(const void *)p;
    }
}

INLINE void store(char *p, unsigned width, uint64_t v)
{
    switch (width) {
    case 1:
        *(uint8_t *)p = (uint8_t)v;
        break;
    case 2:
        *(uint16_t *)(void *)p = (uint16_t)v;
        break;
    case 4:
        *(uint32_t *)(void *)p = (uint32_t)v;
        break;
    default:
        *(uint64_t *)(void *)p = v;
    }
}

enum wire { WIRE_VARINT = 0, WIRE_8 = 1, WIRE_BYTES = 2, WIRE_4 = 5 };

struct in {
    const uint8_t *p, *end;
};

INLINE bool get(struct in *in, uint64_t *v)
{
    const uint8_t *p = varint_get(in->p, in->end, v);

    if (p == NULL)
        return false;
    in->p = p;
    return true;
}

struct wire_field {
    uint64_t number;
    unsigned wire;
    struct in val; /* the bytes of the value, without the length */
};

INLINE bool field_get(struct in *in, struct wire_field *f)
{
    uint64_t tag, n = 0;

    if (!get(in, &tag) || tag < 8)
        return false;
    f->number = tag >> 3;
    f->wire = tag & 7;
    f->val.p = in->p;
    if (f->wire == WIRE_VARINT) {
        if (!get(in, &n))
            return false;
        f->val.end = in->p;
        return true;
    }
    if (f->wire == WIRE_BYTES && !get(in, &n))
        return false;
    if (f->wire == WIRE_8 || f->wire == WIRE_4)
        n = f->wire == WIRE_8 ? 8 : 4;
    else if (f->wire != WIRE_BYTES)
        return false;
    if (n > (uint64_t)(in->end - in->p))
        return false;
    f->val.p = in->p;
    f->val.end = in->p += n;
    return true;
}

#define ENDS 0x8080808080808080 /* the bit of each byte that is clear where a value ends */

INLINE size_t count_varints(const struct in *v)
{
    const uint8_t *p = v->p;
    uint64_t x;
    size_t n = 0;

    for (; v->end - p >= (ptrdiff_t)sizeof(x); p += sizeof(x)) {
        memcpy(&x, p, sizeof(x));
        n += bits64(~x & ENDS);
    }
    for (; p < v->end; p++)
        n += *p < 0x80;
    return n;
}

/* get(), as a rule without a branch per byte: up to eight of them, of seven bits each, are
 * brought together by pairs. */
INLINE bool varint_get_fast(struct in *in, uint64_t *v)
{
    uint64_t x, ends;

    if (SQ_UNLIKELY(in->end - in->p < (ptrdiff_t)sizeof(x)))
        return get(in, v);
    memcpy(&x, in->p, sizeof(x));
    ends = ~x & ENDS;
    if (SQ_UNLIKELY(ends == 0))
        return get(in, v);
    x &= (ends ^ (ends - 1)) & ~ENDS; /* up to the first byte that ends a value */
    x = (x & 0x007f007f007f007f) | (x & 0x7f007f007f007f00) >> 1;
    x = (x & 0x00003fff00003fff) | (x & 0x3fff00003fff0000) >> 2;
    *v = (x & 0x0fffffff) | (x & 0x0fffffff00000000) >> 4;
    in->p += (unsigned)__builtin_ctzll(ends) / 8 + 1;
    return true;
}

#endif
