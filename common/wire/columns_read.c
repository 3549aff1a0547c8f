/* columns_read.c: rows out of the wire: a first pass finds and counts the columns, a second
 * fills the rows. */
#include "common/wire/columns_read.h"

#include <assert.h>

#include "common/base/bits512.h"
#include "common/base/varint.h"
#include "common/wire/columns_int.h"

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

struct field {
    uint64_t number;
    unsigned wire;
    struct in val; /* the bytes of the value, without the length */
};

static bool field_get(struct in *in, struct field *f)
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

/* Facts about a column from the first pass. */
struct seen {
    struct in val; /* bytes of its last field */
    uint32_t fields;
    uint64_t values;
};

#define ENDS 0x8080808080808080 /* the bit of each byte that is clear where a value ends */

static size_t count_varints(const struct in *v)
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

/* The same, as a rule without a branch per byte: up to eight of them, of seven bits each, are
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
