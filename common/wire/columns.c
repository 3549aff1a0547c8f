/* columns.c: the wire by hand: writing. A field is a tag varint (number << 3 | wire type)
 * and a value: 0 = varint, 1 = eight bytes, 2 = length and bytes, 5 = four bytes. */
#include "common/wire/columns.h"

#include <assert.h>
#include "common/base/varint.h"
#include "common/wire/columns_int.h"

INLINE size_t varint_size(uint64_t v)
{
    return (70u - (unsigned)__builtin_clzll(v | 1)) / 7; /* ceil(bits / 7), at least 1 */
}

#define SLACK 8 /* varint_put_fast() writes so far, whatever is needed */

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

/* Mostly a column is empty, or has something in its first row: the zeros at its beginning,
 * of a byte each, are only counted. */
INLINE void measure_nums(const char *rows, size_t step, uint32_t n, unsigned width,
                         uint64_t *any, size_t *sum)
{
    uint32_t i = 0;

    for (; i < n && load(rows, width) == 0; i++)
        rows += step;
    *sum += i;
    for (; i < n; i++, rows += step) {
        uint64_t v = load(rows, width);

        *any |= v;
        *sum += varint_size(v);
    }
}

/* A column in which all rows take part. */
static void measure_all(const struct columns *t, const struct column *c, const char *rows,
                        uint32_t n, uint64_t *any, size_t *sum)
{
    rows += c->off;
    if (c->kind == COL_NUM && c->width == 8) { /* a loop per width, without a switch */
        measure_nums(rows, t->row_bytes, n, 8, any, sum);
    } else if (c->kind == COL_NUM && c->width == 4) {
        measure_nums(rows, t->row_bytes, n, 4, any, sum);
    } else {
        for (uint32_t i = 0; i < n; i++, rows += t->row_bytes)
            *any |= load(rows, c->width);
        *sum = (size_t)n * c->width;
    }
}

/* One of some rows, or of texts. False: a text is too long. */
static bool measure_some(const struct columns *t, const struct column *c,
                         const char *rows, uint32_t n, uint64_t *any, size_t *sum)
{
    uint16_t off = c->kind == COL_TEXT ? c->off_len : c->off;

    for (uint32_t i = 0; i < n; i++, rows += t->row_bytes) {
        uint64_t v;

        if (!takes_part(t, c, rows))
            continue;
        v = load(rows + off, c->width);
        if (c->kind == COL_TEXT && v > c->max)
            return false;
        *any |= v;
        if (c->kind == COL_NUM || c->kind == COL_TEXT)
            *sum += varint_size(v) + (c->kind == COL_TEXT ? 1 + v : 0); /* its own tag */
        else
            *sum += c->kind == COL_BYTE ? 1 : 8;
    }
    return true;
}

/* Bytes of the column's values; 0: it is left out. False: a text is too long. */
static bool measure(const struct columns *t, const struct column *c, const char *rows,
                    uint32_t n, size_t *size)
{
    bool all = !c->some && c->kind != COL_TEXT &&
               (c->kind != COL_NUM || c->width == 8 || c->width == 4);
    uint64_t any = 0;
    size_t sum = 0;

    if (all)
        measure_all(t, c, rows, n, &any, &sum);
    else if (!measure_some(t, c, rows, n, &any, &sum))
        return false;
    *size = any != 0 || c->must || c == t->v ? sum : 0;
    return true;
}

static uint8_t *write_text(uint8_t *p, unsigned field, const struct column *c, const char *row)
{
    uint64_t len = load(row + c->off_len, c->width);
    const char *text;

    assert(c->kind == COL_TEXT && len <= c->max); /* measure_some() has looked */
    memcpy(&text, row + c->off, sizeof(text));
    *p++ = (uint8_t)(field << 3 | WIRE_BYTES);
    p = varint_put(p, len);
    if (len != 0)
        memcpy(p, text, len);
    return p + len;
}

INLINE uint8_t *write_nums(uint8_t *p, const char *rows, size_t step, uint32_t n,
                           unsigned width)
{
    for (uint32_t i = 0; i < n; i++, rows += step)
        p = varint_put_fast(p, load(rows, width));
    return p;
}

static uint8_t *write_column(uint8_t *p, const struct columns *t, unsigned field,
                             const char *rows, uint32_t n, size_t size)
{
    const struct column *c = &t->v[field - 1];

    if (c->kind != COL_TEXT) {
        *p++ = (uint8_t)(field << 3 | WIRE_BYTES);
        p = varint_put(p, size);
    }
    if (c->kind == COL_NUM && !c->some && c->width == 8)
        return write_nums(p, rows + c->off, t->row_bytes, n, 8);
    if (c->kind == COL_NUM && !c->some && c->width == 4)
        return write_nums(p, rows + c->off, t->row_bytes, n, 4);
    for (uint32_t i = 0; i < n; i++, rows += t->row_bytes) {
        if (!takes_part(t, c, rows))
            continue;
        if (c->kind == COL_NUM) {
            p = varint_put(p, load(rows + c->off, c->width));
        } else if (c->kind == COL_BYTE) {
            *p++ = *(const uint8_t *)(rows + c->off);
        } else if (c->kind == COL_FIX64) {
            memcpy(p, rows + c->off, 8); /* little endian, as all machines of ours */
            p += 8;
        } else {
            p = write_text(p, field, c, rows);
        }
    }
    return p;
}

/* Bytes of all columns at most; 0: too many. */
static size_t measure_columns(const struct columns *t, const void *rows, uint32_t n,
                              size_t size[COLUMNS_MAX])
{
    uint32_t with = UINT32_MAX; /* rows that the columns for some are about */
    size_t total = 1;

    for (unsigned i = 0; i < t->n; i++) {
        size[i] = 0;
        if (t->v[i].some && with == UINT32_MAX)
            with = rows_with(t, rows, n);
        if (t->v[i].some && with == 0)
            continue;
        if (!measure(t, &t->v[i], rows, n, &size[i]))
            return 0;
        total += size[i] + 1 + varint_size(size[i]);
    }
    return total <= FRAME_MAX_BODY ? total : 0;
}

int columns_encode(const struct columns *t, const void *rows, uint32_t n, struct buf *out)
{
    size_t size[COLUMNS_MAX], total;
    uint8_t *at, *p;

    assert(t->n > 0 && t->n <= COLUMNS_MAX);
    if (n > t->max_rows)
        return SQ_ETOOBIG;
    total = measure_columns(t, rows, n, size);
    if (total == 0)
        return SQ_ETOOBIG;
    at = p = buf_reserve(out, total + SLACK);
    if (p == NULL)
        return SQ_ENOMEM;
    for (unsigned i = 0; i < t->n; i++)
        if (size[i] != 0)
            p = write_column(p, t, i + 1, rows, n, size[i]);
    assert((size_t)(p - at) <= total);
    out->len += (size_t)(p - at);
    return 0;
}
