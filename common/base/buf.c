/* buf.c: growable bytes. Doubles; after a failure nothing is appended until a reset, so
 * that a message is never sent with a hole in it. */
#include "common/base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#define BUF_FIRST 256u

bool memory_is_spare(size_t n)
{
#ifdef __SANITIZE_ADDRESS__ /* memory under it is no measure, and what is freed is put aside */
    (void)n;
    return true;
#else
    void *p = malloc(n);
    bool there = p != NULL;

    __asm__ volatile("" : : "r"(p) : "memory"); /* keeps both calls in the program */
    free(p);
    return there;
#endif
}

void buf_init(struct buf *b)
{
    memset(b, 0, sizeof(*b));
}

void buf_fini(struct buf *b)
{
    free(b->data);
    memset(b, 0, sizeof(*b));
}

void buf_reset(struct buf *b)
{
    b->len = 0;
    b->failed = false;
}

static bool grow(struct buf *b, size_t n)
{
    size_t need, cap = b->cap != 0 ? b->cap : BUF_FIRST;
    uint8_t *p;

    assert(b->len <= b->cap);
    if (__builtin_add_overflow(b->len, n, &need) || need > SIZE_MAX / 2)
        return false;
    while (cap < need)
        cap *= 2;
    p = realloc(b->data, cap);
    if (p == NULL)
        return false;
    b->data = p;
    b->cap = cap;
    return true;
}

uint8_t *buf_reserve(struct buf *b, size_t n)
{
    if (SQ_UNLIKELY(b->failed))
        return NULL;
    if (SQ_UNLIKELY(b->data == NULL || n > b->cap - b->len) && !grow(b, n)) {
        b->failed = true;
        return NULL;
    }
    return b->data + b->len;
}

void buf_percent(struct buf *b, uint8_t c)
{
    static const char hex[] = "0123456789ABCDEF";
    char t[] = { '%', hex[c >> 4], hex[c & 15] };

    buf_append(b, t, sizeof(t));
}

void buf_escaped(struct buf *b, const char *p, size_t n, const char *plain)
{
    for (size_t i = 0; i < n; i++)
        if (char_is_of(p[i], plain))
            buf_byte(b, (uint8_t)p[i]);
        else
            buf_percent(b, (uint8_t)p[i]);
}

void buf_u64(struct buf *b, uint64_t v)
{
    uint8_t *to = buf_room(b, DECIMAL_ROOM);

    if (SQ_LIKELY(to != NULL))
        b->len += (size_t)(text_u64((char *)to, v) - (char *)to);
}

void buf_i64(struct buf *b, int64_t v)
{
    uint8_t *to = buf_room(b, 1 + DECIMAL_ROOM);

    if (SQ_LIKELY(to != NULL))
        b->len += (size_t)(text_i64((char *)to, v) - (char *)to);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    uint8_t *to;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0) {
        b->failed = true;
        return;
    }
    to = buf_reserve(b, (size_t)n + 1);
    if (to == NULL)
        return;
    va_start(ap, fmt);
    vsnprintf((char *)to, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->len += (size_t)n;
    assert(b->len < b->cap); /* the 0 behind it */
}

void buf_consume(struct buf *b, size_t n)
{
    if (n >= b->len) {
        b->len = 0;
        return;
    }
    memmove(b->data, b->data + n, b->len - n);
    b->len -= n;
}
