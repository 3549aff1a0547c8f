/* fields_in.c: the walk of a table to a struct: of what protobuf-c has read, and of the bytes
 * themselves.
 *
 * protobuf-c makes a struct of its own, with its own copies, by a list of all fields that it has seen;
 * the walk of that one is the second. Bytes are read in one walk that notes where each field is
 * (scan()), and one over the table, which is the same as above but for where a value is. */
#include "common/wire/fields_in.h"

#include "common/wire/fields.h"
#include "common/wire/wire_in.h"

/* Where a walk is: the rows are those of the last F_ROWS. */
struct walk {
    struct arena *a;
    char *rows;
    size_t n;
    uint32_t step;
};

static char *row(const struct walk *w, size_t i)
{
    assert(i < w->n);
    return w->rows + i * w->step;
}

static size_t count_of(const struct field *f, const char *pb)
{
    return load(pb + f->pb_n, sizeof(size_t));
}

/* Wire numbers are wider than ours: false also if it does not survive. Most are 0, as *to is. */
static bool take_value(const struct field *f, char *to, uint64_t v)
{
    if (v == 0)
        return f->least == 0;
    if (f->later && v > f->most)
        v = 0;
    store(to, f->width, v);
    return v >= f->least && v <= f->most && number(to, f->width, f->is_signed) == v;
}

static bool take_number(const struct field *f, char *to, const char *from)
{
    return take_value(f, to, number(from, f->pb_width, f->pb_signed));
}

static bool take_text(const struct field *f, char *at, const ProtobufCBinaryData *d,
                      struct arena *a)
{
    const char *text = d->len > 0 ? (const char *)d->data : "";

    if (d->len > f->most || (f->addr && !is_addr(text, d->len)))
        return false;
    if (f->n_width != 0)
        store(at + f->n, f->n_width, d->len);
    else if (memchr(text, 0, d->len) != NULL)
        return false;
    else if (d->len > 0)
        text = arena_strndup(a, text, d->len);
    point(at + f->off, text);
    return text != NULL;
}

static bool take_bytes(const struct field *f, const ProtobufCBinaryData *d, char *s)
{
    size_t n = d->len / f->step;

    if (f->kind == F_SEED && elements(f, s) == 0)
        return true;
    if (d->len % f->step != 0 || n > (f->kind == F_SEED ? 1 : f->most))
        return false;
    if (f->kind == F_BYTES && f->n_width != 0)
        store(s + f->n, f->n_width, n);
    else if (n != 1)
        return false;
    if (!f->in_place)
        point(s + f->off, d->data);
    else if (n > 0)
        memcpy(s + f->off, d->data, d->len);
    return true;
}

/* n zeroed elements of ours, and their count. */
static bool take_array(const struct field *f, size_t n, char *s, struct arena *a)
{
    if (n < least_of(f) || n > f->most)
        return false;
    if (f->n_width != 0)
        store(s + f->n, f->n_width, n);
    if (!f->in_place)
        point(s + f->off, arena_array(a, n, f->step));
    return array_of(f, s) != NULL;
}

static bool take_rows(const struct field *f, size_t n, char *s, struct walk *w)
{
    w->n = n;
    w->step = f->step;
    if (!take_array(f, n, s, w->a))
        return false;
    w->rows = array_of(f, s);
    return true;
}

static bool take_messages(const struct field *f, const char *pb, struct arena *a, char *s)
{
    const struct fields *sub = f->sub();
    ProtobufCMessage **v = pointer(pb + f->pb);
    size_t n;
    char *to;

    if (f->kind == F_MSG)
        return v != NULL && fields_take(sub, v, a, s + f->off);
    n = count_of(f, pb);
    if (!take_array(f, n, s, a))
        return false;
    to = array_of(f, s);
    for (size_t i = 0; i < n; i++, to += f->step)
        if (!fields_take(sub, v[i], a, to))
            return false;
    return true;
}

static bool take_column(const struct field *f, const char *pb, const struct walk *w)
{
    const char *v = pointer(pb + f->pb);
    size_t n = count_of(f, pb);

    if (n != w->n && (n != 0 || f->least > 0))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!take_number(f, row(w, i) + f->off, v + i * f->pb_width))
            return false;
    return true;
}

static bool take_texts(const struct field *f, const char *pb, const struct walk *w)
{
    const ProtobufCBinaryData *d = pointer(pb + f->pb);

    if (f->later && count_of(f, pb) == 0)
        return true;
    if (count_of(f, pb) != w->n)
        return false;
    for (size_t i = 0; i < w->n; i++)
        if (!take_text(f, row(w, i), &d[i], w->a))
            return false;
    return true;
}

static bool take(const struct field *f, const char *pb, char *s, struct walk *w)
{
    switch (f->kind) {
    case F_NUM:
        return take_number(f, s + f->off, pb + f->pb);
    case F_TEXT:
    case F_WORDS:
        return take_text(f, s, (const void *)(pb + f->pb), w->a);
    case F_BYTES:
    case F_SEED:
        return take_bytes(f, (const void *)(pb + f->pb), s);
    case F_MSG:
    case F_MSGS:
        return take_messages(f, pb, w->a, s);
    case F_ROWS:
        return take_rows(f, count_of(f, pb), s, w);
    case F_COL:
        return take_column(f, pb, w);
    case F_COL_TEXT:
        return take_texts(f, pb, w);
    }
    assert(!"a kind of field");
    return false;
}

static bool ended(const struct fields *t, void *s)
{
    if (t->finish != NULL)
        t->finish(s);
    return t->holds == NULL || t->holds(s);
}

bool fields_take(const struct fields *t, const void *pb, struct arena *a, void *s)
{
    struct walk w = { .a = a };

    assert(((const ProtobufCMessage *)pb)->descriptor == t->desc);
    for (unsigned i = 0; i < t->n; i++)
        if (!take(&t->v[i], pb, s, &w))
            return false;
    return ended(t, s);
}

/* ---- and of bytes ------------------------------------------------------------------------- */

#define FIELDS_MAX 64 /* rows of a table */

typedef ProtobufCFieldDescriptor desc;

/* A row of the table in the bytes. */
struct seen {
    const desc *d;  /* NULL: it is absent, and all else is 0 */
    struct in from; /* the first field of it, and all behind that */
    struct in last; /* the last value */
    size_t values;  /* how often it came; of numbers in one field: these */
};

struct scanned {
    struct seen v[FIELDS_MAX]; /* by the rows of the table; of those that are there */
    uint64_t there;            /* bits of these */
};

static const struct seen *seen_of(const struct scanned *z, unsigned i)
{
    static const struct seen none;

    return z->there >> i & 1 ? &z->v[i] : &none;
}

/* The inverse of wire_value() in fields.c. */
INLINE uint64_t value_of(ProtobufCType type, uint64_t v)
{
    switch (type) {
    case PROTOBUF_C_TYPE_SINT32:
        return (uint64_t)(int64_t)(int32_t)((uint32_t)v >> 1 ^ (0 - ((uint32_t)v & 1)));
    case PROTOBUF_C_TYPE_SINT64:
        return v >> 1 ^ (0 - (v & 1));
    case PROTOBUF_C_TYPE_BOOL:
        return v != 0;
    case PROTOBUF_C_TYPE_UINT32:
        return (uint32_t)v;
    default:
        assert(type == PROTOBUF_C_TYPE_UINT64 || type == PROTOBUF_C_TYPE_INT64 ||
               type == PROTOBUF_C_TYPE_FIXED64);
        return v;
    }
}

/* False: a wire type that the field cannot have, or a value cut short. */
static bool note(const struct field *f, const desc *d, const struct wire_field *w, struct seen *x)
{
    size_t len = (size_t)(w->val.end - w->val.p);
    bool eights = d->type == PROTOBUF_C_TYPE_FIXED64;

    x->last = w->val;
    if (f->kind == F_COL && f->pb_width == 1) { /* not repeated: the last one counts */
        x->values = len;
        return w->wire == WIRE_BYTES;
    }
    if (f->kind == F_COL && w->wire == WIRE_BYTES) {
        x->values += eights ? len / 8 : count_varints(&w->val);
        return len == 0 || (eights ? len % 8 == 0 : w->val.end[-1] < 0x80);
    }
    x->values++;
    if (f->kind == F_COL || f->kind == F_NUM)
        return w->wire == (eights ? WIRE_8 : WIRE_VARINT);
    return w->wire == WIRE_BYTES;
}

/* Fields mostly come by rising numbers; those that we do not know are passed over. */
static bool scan(const struct fields *t, struct in in, struct scanned *z)
{
    const desc *d = t->desc->fields, *end = d + t->desc->n_fields;
    struct in from = in;
    struct wire_field w;

    for (; in.p < in.end; from = in) {
        unsigned i;

        if (!field_get(&in, &w) || w.number >= 1u << 29) /* protobuf has no such number */
            return false;
        if (d == end || w.number < d->id)
            d = t->desc->fields;
        while (d < end && d->id < w.number)
            d++;
        if (d == end || d->id != w.number)
            continue;
        i = fields_row(t, (unsigned)(d - t->desc->fields));
        if ((z->there >> i & 1) == 0)
            z->v[i] = (struct seen){ .d = d, .from = from };
        z->there |= 1ull << i;
        if (!note(&t->v[i], d, &w, &z->v[i]))
            return false;
    }
    return true;
}

/* The next value of a field that is repeated; scan() has seen that there is one. */
static struct wire_field next_of(const struct seen *x, struct in *in)
{
    struct wire_field w;

    do
        if (!field_get(in, &w))
            assert(!"it was there");
    while (w.number != x->d->id);
    return w;
}

static ProtobufCBinaryData bytes_of(struct in v)
{
    return (ProtobufCBinaryData){ (size_t)(v.end - v.p), (uint8_t *)(uintptr_t)v.p };
}

/* A copy, which stays as long as the struct, not only as long as the bytes. */
static bool copy(ProtobufCBinaryData *d, struct arena *a)
{
    d->data = d->len > 0 ? arena_memdup(a, d->data, d->len) : NULL;
    return d->data != NULL || d->len == 0;
}

static bool read_text(const struct field *f, struct in v, struct arena *a, char *at)
{
    ProtobufCBinaryData d = bytes_of(v);

    if (f->n_width != 0 && !copy(&d, a)) /* others are copied with a 0 behind them */
        return false;
    return take_text(f, at, &d, a);
}

static bool read_bytes(const struct field *f, struct in v, struct arena *a, char *s)
{
    ProtobufCBinaryData d = bytes_of(v);

    return (f->in_place || copy(&d, a)) && take_bytes(f, &d, s);
}

static bool read_messages(const struct field *f, const struct seen *x, struct arena *a, char *s)
{
    struct in in = x->from;
    char *to;

    if (f->kind == F_MSG) /* protobuf would merge two; nobody sends two */
        return x->values == 1 && fields_read(f->sub(), x->last.p, x->last.end, a, s + f->off);
    if (!take_array(f, x->values, s, a))
        return false;
    to = array_of(f, s);
    for (size_t i = 0; i < x->values; i++, to += f->step) {
        struct wire_field w = next_of(x, &in);

        if (!fields_read(f->sub(), w.val.p, w.val.end, a, to))
            return false;
    }
    return true;
}

/* Numbers in one field: of seven bits each, or of eight bytes. */
static bool read_packed(const struct field *f, const struct seen *x, struct in v, size_t *i,
                        const struct walk *w)
{
    while (v.p < v.end) {
        uint64_t n;

        if (x->d->type == PROTOBUF_C_TYPE_FIXED64) {
            memcpy(&n, v.p, 8);
            v.p += 8;
        } else if (!varint_get_fast(&v, &n)) {
            return false;
        }
        if (!take_value(f, row(w, (*i)++) + f->off, value_of(x->d->type, n)))
            return false;
    }
    return true;
}

static bool read_column(const struct field *f, const struct seen *x, const struct walk *w)
{
    struct in in = x->from;

    if (x->values != w->n && (x->values != 0 || f->least > 0))
        return false;
    if (f->pb_width == 1) {
        for (size_t i = 0; i < x->values; i++)
            if (!take_value(f, row(w, i) + f->off, x->last.p[i]))
                return false;
        return true;
    }
    for (size_t i = 0; i < x->values;) {
        struct wire_field one = next_of(x, &in);

        if (!read_packed(f, x, one.val, &i, w)) /* a number in a field of its own is one of them */
            return false;
    }
    return true;
}

static bool read_texts(const struct field *f, const struct seen *x, const struct walk *w)
{
    struct in in = x->from;

    if (f->later && x->values == 0)
        return true;
    if (x->values != w->n)
        return false;
    for (size_t i = 0; i < w->n; i++)
        if (!read_text(f, next_of(x, &in).val, w->a, row(w, i)))
            return false;
    return true;
}

static bool read_number(const struct field *f, const struct seen *x, char *s)
{
    uint64_t v = 0;

    if (x->d != NULL && x->d->type == PROTOBUF_C_TYPE_FIXED64)
        memcpy(&v, x->last.p, sizeof(v));
    else if (x->d != NULL && varint_get(x->last.p, x->last.end, &v) != NULL)
        v = value_of(x->d->type, v);
    return take_value(f, s + f->off, v);
}

/* A column of them says how many rows there are. */
static size_t rows_of(const struct fields *t, unsigned i, const struct scanned *z)
{
    uint16_t n = t->v[i].pb_n;

    do
        i++;
    while (t->v[i].pb_n != n);
    return seen_of(z, i)->values;
}

static bool read_field(const struct fields *t, unsigned i, const struct scanned *z, char *s,
                       struct walk *w)
{
    const struct field *f = &t->v[i];
    const struct seen *x = seen_of(z, i);

    switch (f->kind) {
    case F_NUM:
        return read_number(f, x, s);
    case F_TEXT:
    case F_WORDS:
        return read_text(f, x->last, w->a, s);
    case F_BYTES:
    case F_SEED:
        return read_bytes(f, x->last, w->a, s);
    case F_MSG:
    case F_MSGS:
        return read_messages(f, x, w->a, s);
    case F_ROWS:
        return take_rows(f, rows_of(t, i, z), s, w);
    case F_COL:
        return read_column(f, x, w);
    case F_COL_TEXT:
        return read_texts(f, x, w);
    }
    assert(!"a kind of field");
    return false;
}

/* False: one that is absent leaves what it was, zeros. */
static bool needs_a_look(const struct field *f)
{
    bool zeros = f->kind == F_NUM || f->kind == F_COL || (f->kind == F_BYTES && f->n_width != 0);

    return !zeros || f->least > 0;
}

/* Bits of rows that are looked at although they are absent: found once in the life of a process. */
static uint64_t looked_at(const struct fields *t)
{
    uint64_t bits = *t->looked_at;

    for (unsigned i = 0; i < t->n && *t->looked_at == 0; i++)
        bits |= (uint64_t)needs_a_look(&t->v[i]) << i;
    return *t->looked_at = bits | 1;
}

bool fields_read(const struct fields *t, const uint8_t *p, const uint8_t *end, struct arena *a,
                 void *s)
{
    struct walk w = { .a = a };
    struct scanned z;

    assert(t->n <= FIELDS_MAX);
    z.there = 0;
    if (!scan(t, (struct in){ p, end }, &z))
        return false;
    for (uint64_t left = z.there | looked_at(t); left != 0; left &= left - 1)
        if (!read_field(t, (unsigned)__builtin_ctzll(left), &z, s, &w))
            return false;
    return ended(t, s);
}
