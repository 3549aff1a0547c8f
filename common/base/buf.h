/* buf.h: growable bytes with a sticky failure: append without checking, check once. Pure. */
#ifndef SEGQ_BUF_H
#define SEGQ_BUF_H

#include <stdlib.h>
#include <string.h>

#include "common/base/base.h"

#define MEMORY_SPARE ((size_t)512 << 10) /* bytes that turns take and give back, links among them */

/* Could so much be had now? Asked before what stays is taken in (people, tasks): else that takes the last
 * bytes, and links end for want of a record's. malloc keeps it at its heap's end meanwhile. */
bool memory_is_spare(size_t n);

struct buf {
    uint8_t *data; /* owned */
    size_t len, cap;
    bool failed; /* an append found no memory; len is unchanged since */
};

void buf_init(struct buf *b);
void buf_fini(struct buf *b);
void buf_reset(struct buf *b); /* len = 0, failed = false; keeps the memory */
/* Room for n more bytes at data + len; NULL: no memory (failed is set). */
uint8_t *buf_reserve(struct buf *b, size_t n);
/* The same, inline: most appends are short, and find room. */
static inline uint8_t *buf_room(struct buf *b, size_t n)
{
    bool fits = !b->failed && n < b->cap - b->len;

    return SQ_LIKELY(fits) ? b->data + b->len : buf_reserve(b, n);
}
/* Most are literals, and become one or two moves. */
static inline void buf_append(struct buf *b, const void *p, size_t n)
{
    uint8_t *to = buf_room(b, n);

    if (SQ_UNLIKELY(to == NULL || n == 0))
        return;
    memcpy(to, p, n);
    b->len += n;
}
static inline void buf_str(struct buf *b, const char *s)
{
    buf_append(b, s, strlen(s));
}
static inline void buf_byte(struct buf *b, uint8_t c)
{
    buf_append(b, &c, 1);
}
void buf_percent(struct buf *b, uint8_t c);          /* %XX */
/* Adds a part of an address: letters, digits and those of `plain` as they are, others as %XX. */
void buf_escaped(struct buf *b, const char *p, size_t n, const char *plain);
void buf_u64(struct buf *b, uint64_t v);            /* decimal digits */
void buf_i64(struct buf *b, int64_t v);
void buf_printf(struct buf *b, const char *fmt, ...) SQ_PRINTF(2, 3); /* not on hot paths */
void buf_consume(struct buf *b, size_t n); /* drops n bytes at the front (memmove) */

/* ---- numbers as bytes of seven bits, the lowest first, as protobuf has them ---- */

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

/* The same; NULL also if it has more than 64 bits: for records, which only we have written. */
static inline const uint8_t *varint_get_own(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
    const uint8_t *at = varint_get(p, end, v);

    return at != NULL && at - p == VARINT_MAX && at[-1] > 1 ? NULL : at;
}

/* ---- arrays that grow by doubling ---- */

static inline void *grow_to(void *v, size_t cap, size_t size)
{
    return cap > SIZE_MAX / size ? NULL : realloc(v, cap * size);
}

/* Room for one more behind the n elements of the array v, which has room for cap (0: v is NULL;
 * it gets room for `first`). False: no memory, or cap's type is too small; nothing has changed
 * then. v and cap are lvalues, and may move. */
#define GROW(v, n, cap, first) GROW_BY(v, n, 1, cap, first)

/* The same for `more` elements. */
#define GROW_BY(v, n, more, cap, first)                                                  \
    ((size_t)(n) + (more) <= (cap) || ({                                                 \
         size_t want_ = (size_t)(n) + (more);                                            \
         size_t twice_ = (cap) != 0 ? (size_t)(cap) * 2 : (size_t)(first);               \
         size_t cap_ = twice_ > want_ ? twice_ : want_;                                  \
         bool fits_ = (__typeof__(cap))cap_ == cap_;                                     \
         void *v_ = fits_ ? grow_to((v), cap_, sizeof(*(v))) : NULL;                     \
                                                                                         \
         if (v_ != NULL) {                                                               \
             (v) = v_;                                                                   \
             (cap) = (__typeof__(cap))cap_;                                              \
         }                                                                               \
         v_ != NULL;                                                                     \
     }))

#endif
