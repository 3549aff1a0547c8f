/* columns.c: the wire by hand. A field is a tag varint (number << 3 | wire type) and a
 * value: 0 = varint, 1 = eight bytes, 2 = length and bytes, 5 = four bytes. */
#include "common/columns.h"

#include <assert.h>
#include <string.h>

#include "common/frame.h"

#define INLINE static inline __attribute__((always_inline))

enum wire { WIRE_VARINT = 0, WIRE_8 = 1, WIRE_BYTES = 2, WIRE_4 = 5 };

/* ---- members of rows ------------------------------------------------------------- */

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

/* Rows that the columns for some are about. */
static uint32_t rows_with(const struct columns *t, const char *rows, uint32_t n)
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

/* ---- writing --------------------------------------------------------------------- */

INLINE size_t varint_size(uint64_t v)
{
    return (70u - (unsigned)__builtin_clzll(v | 1)) / 7; /* ceil(bits / 7), at least 1 */
}

INLINE uint8_t *varint_put(uint8_t *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (uint8_t)v | 0x80;
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
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

INLINE void measure_nums(const char *rows, size_t step, uint32_t n, unsigned width,
                         uint64_t *any, size_t *sum)
{
    for (uint32_t i = 0; i < n; i++, rows += step) {
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

/* ---- reading --------------------------------------------------------------------- */

struct in {
    const uint8_t *p, *end;
};

INLINE bool varint_get(struct in *in, uint64_t *v)
{
    uint64_t x = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t b;

        if (in->p == in->end)
            return false;
        b = *in->p++;
        x |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            *v = x;
            return true;
        }
    }
    return false;
}

struct field {
    uint64_t number;
    unsigned wire;
    struct in val; /* the bytes of the value, without the length */
};

static bool field_get(struct in *in, struct field *f)
{
    uint64_t tag, n = 0;

    if (!varint_get(in, &tag) || tag < 8)
        return false;
    f->number = tag >> 3;
    f->wire = tag & 7;
    f->val.p = in->p;
    if (f->wire == WIRE_VARINT) {
        if (!varint_get(in, &n))
            return false;
        f->val.end = in->p;
        return true;
    }
    if (f->wire == WIRE_BYTES && !varint_get(in, &n))
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

/* What the first pass learns of a column. */
struct seen {
    struct in val; /* of its last field */
    uint32_t fields;
    uint64_t values;
};

static size_t count_varints(const struct in *v)
{
    size_t n = 0;

    for (const uint8_t *p = v->p; p < v->end; p++)
        n += *p < 0x80;
    return n;
}

/* False: a wire type that the column cannot have, or a value cut short. */
static bool note(const struct column *c, const struct field *f, struct seen *s)
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
    struct field f;

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

    while (row < k->end && !takes_part(k->t, k->c, row))
        row += k->t->row_bytes;
    k->row = row + k->t->row_bytes;
    return row; /* < end: the count was checked before */
}

static bool fill_text(struct cursor *k, struct in v)
{
    char *row = next_row(k);
    size_t len = (size_t)(v.end - v.p);

    if (len > k->c->max)
        return false;
    store(row + k->c->off_len, k->c->width, len);
    memcpy(row + k->c->off, &v.p, sizeof(v.p));
    return true;
}

/* The same, as a rule without a branch per byte. */
INLINE bool varint_get_fast(struct in *in, uint64_t *v)
{
    uint32_t x, ends;
    unsigned n;

    if (__builtin_expect(in->end - in->p < (ptrdiff_t)sizeof(x), 0))
        return varint_get(in, v);
    memcpy(&x, in->p, sizeof(x));
    ends = ~x & 0x80808080u;
    if (__builtin_expect(ends == 0, 0))
        return varint_get(in, v);
    x &= ends ^ (ends - 1); /* up to the first byte that ends a value */
    n = (unsigned)__builtin_ctz(ends) / 8 + 1;
    *v = (x & 0x7f) | (x & 0x7f00) >> 1 | (x & 0x7f0000) >> 2 | (x & 0x7f000000) >> 3;
    in->p += n;
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
        return c->width == 8 ? fill_nums(k, v, 8) : fill_nums(k, v, 4);
    case COL_BYTE:
        for (; v.p < v.end; v.p++) {
            if (*v.p > c->max)
                return false;
            *(uint8_t *)(next_row(k) + c->off) = *v.p;
        }
        return true;
    case COL_FIX64:
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
    struct field f;

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
