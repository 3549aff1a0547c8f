/* columns.c: the wire by hand: writing. A field is a tag varint (number << 3 | wire type)
 * and a value: 0 = varint, 1 = eight bytes, 2 = length and bytes, 5 = four bytes. */
#include "common/wire/columns.h"

#include <assert.h>

#include "common/base/log.h"
#include "common/base/varint.h"
#include "common/wire/columns_int.h"

#define LOG_MODULE "wire"

INLINE size_t varint_size(uint64_t v)
{
    return (70u - (unsigned)__builtin_clzll(v | 1)) / 7; /* ceil(bits / 7), at least 1 */
}

#define SLACK 8 /* write_nums() writes so far, whatever is needed */

/* A value's length is not known to the branch predictor: up to four bytes are written
 * without a branch. */
INLINE uint8_t *varint_put_fast(uint8_t *p, uint64_t v)
{
    size_t n = varint_size(v);
    uint32_t x;

    if (__builtin_expect(v >= 1u << 28, 0))
        return varint_put(p, v);
    x = (uint32_t)((v & 0x7f) | (v & 0x3f80) << 1 | (v & 0x1fc000) << 2 | v >> 21 << 24);
    x |= 0x80808080u & ((1u << (8 * (n - 1))) - 1);
    memcpy(p, &x, sizeof(x));
    return p + n;
}

/* Mostly a column is empty, or has something in its first row, or the same in all of them:
 * that is written once, and copied, up to eight bytes of it. */
INLINE uint8_t *write_nums(uint8_t *p, const char *rows, size_t step, uint32_t n,
                           unsigned width, uint64_t *any)
{
    const char *end = rows + n * step;
    uint64_t last = 0, text = 0;
    size_t len = 1;

    for (; rows < end; rows += step) {
        uint64_t v = load(rows, width);

        if (SQ_UNLIKELY(v >> 7 * sizeof(text) != 0)) {
            *any |= v;
            p = varint_put(p, v);
            continue;
        }
        if (v != last) {
            *any |= v;
            last = v;
            len = (size_t)(varint_put_fast(p, v) - p);
            memcpy(&text, p, sizeof(text));
        }
        memcpy(p, &text, sizeof(text));
        p += len;
    }
    return p;
}

/* Numbers of which not all rows take part, or of a width that is rare. */
static uint8_t *write_some(uint8_t *p, const struct columns *t, const struct column *c,
                           const char *rows, uint32_t n, uint64_t *any)
{
    for (uint32_t i = 0; i < n; i++, rows += t->row_bytes) {
        uint64_t v;

        if (!takes_part(t, c, rows))
            continue;
        v = load(rows + c->off, c->width);
        *any |= v;
        p = varint_put(p, v);
    }
    return p;
}

/* Each as wide as the member; little endian, as all machines of ours. */
INLINE uint8_t *write_fixed(uint8_t *p, const char *rows, size_t step, uint32_t n,
                            unsigned width, uint64_t *any)
{
    for (uint32_t i = 0; i < n; i++, rows += step, p += width) {
        uint64_t v = load(rows, width);

        *any |= v;
        memcpy(p, &v, width);
    }
    return p;
}

/* The values of a column that is no text. any: gets bits if one is not 0. */
static uint8_t *write_values(uint8_t *p, const struct columns *t, const struct column *c,
                             const char *rows, uint32_t n, uint64_t *any)
{
    const char *first = rows + c->off;
    size_t step = t->row_bytes;

    assert(!c->some || c->kind == COL_NUM);
    if (c->kind == COL_BYTE) /* a loop per width, without a switch */
        return write_fixed(p, first, step, n, 1, any);
    if (c->kind == COL_FIX64)
        return write_fixed(p, first, step, n, 8, any);
    if (!c->some && c->width == 8)
        return write_nums(p, first, step, n, 8, any);
    if (!c->some && c->width == 4)
        return write_nums(p, first, step, n, 4, any);
    return write_some(p, t, c, rows, n, any);
}

/* A field per row. Nothing is written if all are empty and it need not be there. */
static uint8_t *write_texts(uint8_t *start, const struct columns *t, unsigned field,
                            const char *rows, uint32_t n)
{
    const struct column *c = &t->v[field - 1];
    uint64_t any = c->must;
    uint8_t *p = start;

    for (uint32_t i = 0; i < n; i++, rows += t->row_bytes) {
        uint64_t len;
        const char *text;

        if (!takes_part(t, c, rows))
            continue;
        len = load(rows + c->off_len, c->width);
        assert(len <= c->max); /* most_bytes() has looked */
        memcpy(&text, rows + c->off, sizeof(text));
        *p++ = (uint8_t)(field << 3 | WIRE_BYTES);
        p = varint_put(p, len);
        if (len != 0)
            memcpy(p, text, len);
        p += len;
        any |= len;
    }
    return any != 0 ? p : start;
}

/* Bytes of the values of a column that is no text, at most. */
static size_t most_values(const struct column *c, uint32_t n)
{
    return (size_t)n * (c->kind == COL_NUM ? (c->width * 8u + 6) / 7 : c->width);
}

/* Most columns have their width as bound. any: the bits of all values. */
static bool is_fit(const struct column *c, const uint8_t *values, uint32_t n, uint64_t any)
{
    unsigned high = 0;

    if (any <= c->max || c->kind == COL_TEXT)
        return true;
    if (c->kind != COL_BYTE) /* their bounds are all ones */
        return false;
    for (uint32_t i = 0; i < n; i++)
        high = values[i] > high ? values[i] : high;
    return high <= c->max;
}

/* The length stands before the values: they are written where it ends if they are as long as
 * they can be, and moved if it is shorter. NULL: a value is above its bound. */
static uint8_t *write_packed(uint8_t *start, const struct columns *t, unsigned field,
                             const char *rows, uint32_t n)
{
    const struct column *c = &t->v[field - 1];
    uint8_t *values = start + 1 + varint_size(most_values(c, n)), *end, *p = start;
    uint64_t any = 0;
    size_t size;

    end = write_values(values, t, c, rows, n, &any);
    size = (size_t)(end - values);
    if (!is_fit(c, values, n, any)) {
        log_error("event=unfit_message message=batch column=%u", field);
        return NULL;
    }
    if (!(c->must || field == 1 || any != 0) || size == 0)
        return start;
    *p++ = (uint8_t)(field << 3 | WIRE_BYTES);
    p = varint_put(p, size);
    assert(p <= values);
    if (p != values)
        memmove(p, values, size);
    return p + size;
}

/* Bytes of a column with its tags and lengths, at most; 0: a text is too long. */
static size_t most_bytes(const struct columns *t, const struct column *c, const char *rows,
                         uint32_t n)
{
    size_t most = most_values(c, n);

    if (c->kind != COL_TEXT)
        return 1 + varint_size(most) + most;
    most = 1;
    for (uint32_t i = 0; i < n; i++, rows += t->row_bytes) {
        uint64_t len = takes_part(t, c, rows) ? load(rows + c->off_len, c->width) : 0;

        if (len > c->max)
            return 0;
        most += 1 + varint_size(len) + len;
    }
    return most;
}

/* Bytes of all columns at most; 0: a text is too long. nobody: none of the rows that some columns
 * are about is there. */
static size_t most_of_all(const struct columns *t, const char *rows, uint32_t n, bool nobody)
{
    size_t total = 0;

    for (unsigned i = 0; i < t->n; i++) {
        size_t most = 0;

        if (!(nobody && t->v[i].some) && (most = most_bytes(t, &t->v[i], rows, n)) == 0)
            return 0;
        total += most;
    }
    return total;
}

int columns_encode(const struct columns *t, const void *rows, uint32_t n, struct buf *out)
{
    bool nobody = t->some_value != 0 && rows_with(t, rows, n) == 0;
    uint8_t *at, *p;
    size_t most;

    assert(t->n > 0 && t->n <= COLUMNS_MAX);
    if (n > t->max_rows || (most = most_of_all(t, rows, n, nobody)) == 0)
        return SQ_ETOOBIG;
    at = p = buf_reserve(out, most + SLACK);
    if (p == NULL)
        return SQ_ENOMEM;
    for (unsigned i = 0; i < t->n; i++)
        if (!(nobody && t->v[i].some)) {
            p = t->v[i].kind == COL_TEXT ? write_texts(p, t, i + 1, rows, n) :
                                           write_packed(p, t, i + 1, rows, n);
            if (p == NULL)
                return SQ_EINVAL;
        }
    assert((size_t)(p - at) <= most);
    if (p - at > FRAME_MAX_BODY)
        return SQ_ETOOBIG;
    out->len += (size_t)(p - at);
    return 0;
}
