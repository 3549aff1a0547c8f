/* columns.c: the wire by hand (wire_in.h). */
#include "common/wire/columns.h"

#include <assert.h>
#include <string.h>

#include "common/base/log.h"
#include "common/wire/codec.h"
#include "common/wire/wire_in.h"

#define LOG_MODULE "wire"

/* Rows that the columns for some are about. */
INLINE uint32_t rows_with(const struct columns *t, const char *rows, uint32_t n)
{
    uint32_t k = 0;

    for (uint32_t i = 0; i < n; i++, rows += t->row_bytes)
        k += *(const uint8_t *)(rows + t->some_off) == t->some_value;
    return k;
}

INLINE bool takes_part(const struct columns *t, const struct column *c, const char *row)
{
    return !c->some || *(const uint8_t *)(row + t->some_off) == t->some_value;
}

/* ---- rows to the wire ---- */

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

/* ---- rows out of the wire: a first pass finds and counts the columns, a second fills the rows ---- */

/* Facts about a column from the first pass. */
struct seen {
    struct in val; /* bytes of its last field */
    uint32_t fields;
    uint64_t values;
};

/* False: a wire type that the column cannot have, or a value cut short. */
static bool note(const struct column *c, const struct wire_field *f, struct seen *s)
{
    size_t len = (size_t)(f->val.end - f->val.p);

    s->val = f->val;
    s->fields++;
    switch (c->kind) {
    case COL_NUM:
        s->values += count_varints(&f->val);
        return f->wire == WIRE_VARINT ||
               (f->wire == WIRE_BYTES && (len == 0 || f->val.end[-1] < 0x80));
    case COL_FIX64:
        s->values += len / 8;
        return f->wire == WIRE_8 || (f->wire == WIRE_BYTES && len % 8 == 0);
    case COL_BYTE: /* not repeated: the last one counts */
        s->values = len;
        s->fields = 1;
        return f->wire == WIRE_BYTES;
    default:
        s->values++;
        return f->wire == WIRE_BYTES;
    }
}

static bool scan(const struct columns *t, struct in in, struct seen *seen)
{
    struct wire_field f;

    while (in.p < in.end) {
        if (!field_get(&in, &f))
            return false;
        if (f.number <= t->n && !note(&t->v[f.number - 1], &f, &seen[f.number - 1]))
            return false;
    }
    return true;
}

/* Where the next value of a column goes. */
struct cursor {
    const struct columns *t;
    const struct column *c;
    char *row, *end;
};

INLINE char *next_row(struct cursor *k)
{
    char *row = k->row;

    if (SQ_UNLIKELY(k->c->some))
        while (row < k->end && !takes_part(k->t, k->c, row))
            row += k->t->row_bytes;
    k->row = row + k->t->row_bytes;
    return row; /* < end: the count was checked before */
}

static bool fill_text(struct cursor *k, struct in v)
{
    char *row = next_row(k);
    size_t len = (size_t)(v.end - v.p);

    assert(row < k->end);
    if (len > k->c->max)
        return false;
    store(row + k->c->off_len, k->c->width, len);
    memcpy(row + k->c->off, &v.p, sizeof(v.p));
    return true;
}

INLINE bool fill_nums(struct cursor *k, struct in v, unsigned width)
{
    const struct column *c = k->c;
    uint64_t x;

    while (v.p < v.end) {
        if (!varint_get_fast(&v, &x) || x > c->max)
            return false;
        store(next_row(k) + c->off, width, x);
    }
    return true;
}

static bool fill(struct cursor *k, struct in v)
{
    const struct column *c = k->c;

    switch (c->kind) {
    case COL_NUM: /* a loop per width: the compiler drops the switch inside */
        assert(c->width == 8 || c->width == 4);
        return c->width == 8 ? fill_nums(k, v, 8) : fill_nums(k, v, 4);
    case COL_BYTE:
        for (; v.p < v.end; v.p++) {
            if (*v.p > c->max)
                return false;
            *(uint8_t *)(next_row(k) + c->off) = *v.p;
        }
        return true;
    case COL_FIX64:
        assert((v.end - v.p) % 8 == 0); /* note() has looked */
        for (; v.p < v.end; v.p += 8)
            memcpy(next_row(k) + c->off, v.p, 8);
        return true;
    default:
        return fill_text(k, v);
    }
}

/* A column in several fields (texts, or a sender that does not pack): walk them again. */
static bool fill_fields(struct cursor *k, struct in in, unsigned number)
{
    struct wire_field f;

    while (in.p < in.end && field_get(&in, &f))
        if (f.number == number && !fill(k, f.val))
            return false;
    return true;
}

int columns_decode(const struct columns *t, const uint8_t *body, size_t len, struct arena *a,
                   void **rows, uint32_t *n)
{
    struct in in = { body, body + len };
    struct seen seen[COLUMNS_MAX] = { 0 };

    assert(t->n > 0 && t->n <= COLUMNS_MAX);
    if (!scan(t, in, seen) || seen[0].values > t->max_rows)
        return SQ_EPROTO;
    *n = (uint32_t)seen[0].values;
    *rows = arena_array(a, *n, t->row_bytes);
    if (*rows == NULL)
        return SQ_ENOMEM;
    for (unsigned i = 0; i < t->n; i++) {
        const struct column *c = &t->v[i];
        struct cursor k = { t, c, *rows, (char *)*rows + *n * (size_t)t->row_bytes };
        uint32_t expect;

        if (seen[i].fields == 0 && !c->must) /* all zero */
            continue;
        expect = c->some ? rows_with(t, *rows, *n) : *n;
        if (seen[i].values != expect && (seen[i].values != 0 || c->must))
            return SQ_EPROTO;
        if (!(seen[i].fields == 1 ? fill(&k, seen[i].val) : fill_fields(&k, in, i + 1)))
            return SQ_EPROTO;
    }
    return 0;
}
