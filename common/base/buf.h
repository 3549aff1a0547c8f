/* buf.h: growable bytes with a sticky failure: append without checking, check once. Pure. */
#ifndef SEGQ_BUF_H
#define SEGQ_BUF_H

#include <string.h>

#include "common/base/base.h"

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
void buf_u64(struct buf *b, uint64_t v);            /* decimal digits */
void buf_i64(struct buf *b, int64_t v);
void buf_printf(struct buf *b, const char *fmt, ...) SQ_PRINTF(2, 3); /* not on hot paths */
void buf_consume(struct buf *b, size_t n); /* drops n bytes at the front (memmove) */

#endif
