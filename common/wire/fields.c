/* fields.c: the walk of a table, from a struct and to it. */
#include "common/wire/fields.h"

#include <assert.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/wire/frame.h"
#include "common/wire/number.h"

#define LOG_MODULE "wire"

static uint64_t number(const char *p, unsigned width, bool is_signed)
{
    uint64_t v = load(p, width);

    assert(!is_signed || width >= 4);
    return is_signed && width == 4 ? (uint64_t)(int64_t)(int32_t)(uint32_t)v : v;
}

static void *pointer(const char *p)
{
    void *v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static void point(char *p, const void *to)
{
    memcpy(p, &to, sizeof(to));
}

/* Our array: its elements, and how many they are. */
static char *array_of(const struct field *f, const char *s)
{
    return f->in_place ? (char *)(uintptr_t)(s + f->off) : pointer(s + f->off);
}

static size_t elements(const struct field *f, const char *s)
{
    return f->n_width != 0 ? load(s + f->n, f->n_width) : f->most;
}

static uint64_t least_of(const struct field *f)
{
    return f->n_width != 0 ? f->least : f->most;
}

static bool is_addr(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] <= ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\')
            return false;
    return true;
}

/* ---- from a struct ------------------------------------------------------------------------
 * What protobuf_c_message_pack() writes of the same message, byte for byte, in one walk that asks
 * for no size first: by rising field numbers, and nothing for what is 0 or empty. Our texts are
 * `bytes`, and there are no unknown fields.
 * 0, SQ_ETOOBIG, SQ_EINVAL (a number that no receiver would take). */

typedef ProtobufCFieldDescriptor desc;

enum { VARINT = 0, EIGHT = 1, LENGTH = 2 }; /* wire types */

#define LENGTH_ROOM 2 /* bytes of most lengths */

static uint8_t *put_tag(uint8_t *to, const desc *d, unsigned wire)
{
    return varint_put(to, (uint64_t)d->id << 3 | wire);
}

/* A number as the wire has it, which the receiver takes as v. */
INLINE uint64_t wire_value(ProtobufCType type, uint64_t v)
{
    switch (type) {
    case PROTOBUF_C_TYPE_SINT32:
        return (uint32_t)(v << 1) ^ (0 - ((uint32_t)v >> 31));
    case PROTOBUF_C_TYPE_SINT64:
        return v << 1 ^ (0 - (v >> 63));
    case PROTOBUF_C_TYPE_BOOL:
        return (uint32_t)v != 0;
    case PROTOBUF_C_TYPE_UINT32:
        return (uint32_t)v;
    default:
        assert(type == PROTOBUF_C_TYPE_UINT64 || type == PROTOBUF_C_TYPE_INT64 ||
               type == PROTOBUF_C_TYPE_FIXED64);
        return v;
    }
}

/* True: the receiver would take this value: take_number(). */
static bool is_fit(const struct field *f, uint64_t v)
{
    char ours[8];

    if (f->pb_width == 4)
        v = f->pb_signed ? (uint64_t)(int64_t)(int32_t)v : (uint32_t)v;
    if (v == 0 || (f->later && v > f->most))
        return f->least == 0;
    store(ours, f->width, v);
    return v >= f->least && v <= f->most && number(ours, f->width, f->is_signed) == v;
}

/* Not what was copied as it is, nor what surely fits. */
static int look_at(const struct field *f, uint64_t v)
{
    bool surely = v >= f->least && v <= f->most &&
                  v <= (f->pb_width == 8 ? INT64_MAX : INT32_MAX);

    return surely || is_fit(f, v) ? 0 : SQ_EINVAL;
}

INLINE int read_number(const struct field *f, const char *from, uint64_t *v)
{
    *v = number(from, f->width, f->is_signed);
    return f->any || *v == f->least ? 0 : look_at(f, *v); /* most are 0 */
}

static int write_number(const struct field *f, const desc *d, const char *from, struct buf *b)
{
    uint64_t v = number(from, f->width, f->is_signed);
    uint8_t *to;
    int rc;

    if (v == 0 && f->least == 0) /* most are */
        return 0;
    rc = read_number(f, from, &v);
    v = wire_value(d->type, v);
    if (rc < 0 || v == 0 || (to = buf_room(b, 2 * VARINT_MAX)) == NULL)
        return rc;
    if (d->type == PROTOBUF_C_TYPE_FIXED64) {
        to = put_tag(to, d, EIGHT);
        memcpy(to, &v, 8); /* the lowest byte first */
        to += 8;
    } else {
        to = varint_put(put_tag(to, d, VARINT), v);
    }
    b->len = (size_t)(to - b->data);
    return 0;
}

static void put_bytes(const desc *d, const void *p, size_t n, struct buf *b)
{
    uint8_t *to = buf_room(b, 2 * VARINT_MAX);

    if (to == NULL)
        return;
    b->len = (size_t)(varint_put(put_tag(to, d, LENGTH), n) - b->data);
    buf_append(b, p, n);
}

/* A part whose length is known behind it: where the length will be. */
static size_t begin(const desc *d, struct buf *b)
{
    uint8_t *to = buf_room(b, VARINT_MAX + LENGTH_ROOM);

    if (to == NULL)
        return 0;
    b->len = (size_t)(put_tag(to, d, LENGTH) + LENGTH_ROOM - b->data);
    return b->len - LENGTH_ROOM;
}

static void end(size_t at, struct buf *b)
{
    uint8_t text[VARINT_MAX], *p = buf_room(b, VARINT_MAX);
    size_t n = b->len - at - LENGTH_ROOM, room;

    if (p == NULL)
        return;
    p = b->data + at;
    room = (size_t)(varint_put(text, n) - text);
    if (room != LENGTH_ROOM)
        memmove(p + room, p + LENGTH_ROOM, n);
    memcpy(p, text, room);
    b->len = at + room + n;
}

/* at: where the pointer is, or the row that has it and its length */
static int write_text(const struct field *f, const desc *d, const char *at, struct buf *b)
{
    const char *text = pointer(at + f->off);
    size_t n = f->n_width != 0 ? load(at + f->n, f->n_width) : text != NULL ? strlen(text) : 0;

    if (f->kind == F_WORDS && n > f->most) /* cut between two characters: JSON would refuse the rest of one */
        for (n = f->most; n > 0 && ((uint8_t)text[n] & 0xc0) == 0x80; n--)
            ;
    if (n > f->most)
        return SQ_ETOOBIG;
    if (f->addr && !is_addr(text, n))
        return SQ_EINVAL;
    if (n > 0 || f->kind == F_COL_TEXT)
        put_bytes(d, text, n, b);
    return 0;
}

static int write_bytes(const struct field *f, const desc *d, const char *s, struct buf *b)
{
    size_t n = elements(f, s);

    if (f->kind == F_SEED)
        n = n != 0;
    else if (n > f->most)
        return SQ_ETOOBIG;
    if (n * f->step > 0)
        put_bytes(d, array_of(f, s), n * f->step, b);
    return 0;
}

static int write_struct(const struct fields *t, const char *s, struct buf *b);

static int write_structs(const struct field *f, const desc *d, const char *s, struct buf *b)
{
    size_t n = f->kind == F_MSG ? 1 : elements(f, s);
    const char *from = f->kind == F_MSG ? s + f->off : array_of(f, s);
    int rc = f->kind == F_MSG ? 0 : n > f->most ? SQ_ETOOBIG : n < least_of(f) ? SQ_EINVAL : 0;

    for (size_t i = 0; i < n && rc == 0; i++, from += f->step) {
        size_t at = begin(d, b);

        rc = write_struct(f->sub(), from, b);
        end(at, b);
    }
    return rc;
}

static bool any_has(const struct field *f, const struct field *rows, const char *row, size_t n)
{
    for (; n > 0 && number(row + f->n, f->n_width, false) == 0; n--)
        row += rows->step;
    return n > 0;
}

/* Numbers of all rows, in one field. */
static int write_numbers(const struct field *f, const desc *d, const struct field *rows,
                         const char *row, size_t n, struct buf *b)
{
    size_t at = begin(d, b);
    int rc = 0;

    for (; n > 0 && rc == 0; n--, row += rows->step) {
        uint64_t v;

        rc = read_number(f, row + f->off, &v);
        if (f->pb_width == 1)
            buf_byte(b, (uint8_t)v);
        else if (d->type == PROTOBUF_C_TYPE_FIXED64)
            buf_append(b, &v, 8);
        else
            buf_varint(b, wire_value(d->type, v));
    }
    end(at, b);
    return rc;
}

static int write_column(const struct field *f, const desc *d, const char *s, struct buf *b)
{
    const struct field *rows = f;
    const char *row;
    size_t n;
    int rc;

    while (rows->kind != F_ROWS)
        rows--;
    row = array_of(rows, s);
    n = elements(rows, s);
    assert(n == 0 || row != NULL);
    rc = n > rows->most ? SQ_ETOOBIG : n < least_of(rows) ? SQ_EINVAL : 0;
    if (rc < 0 || n == 0 || (f->later && !any_has(f, rows, row, n)))
        return rc;
    if (f->kind == F_COL)
        return write_numbers(f, d, rows, row, n, b);
    for (; n > 0 && rc == 0; n--, row += rows->step)
        rc = write_text(f, d, row, b); /* in a field each */
    return rc;
}

static int write_field(const struct field *f, const desc *d, const char *s, struct buf *b)
{
    switch (f->kind) {
    case F_NUM:
        return write_number(f, d, s + f->off, b);
    case F_TEXT:
    case F_WORDS:
        return write_text(f, d, s, b);
    case F_BYTES:
    case F_SEED:
        return write_bytes(f, d, s, b);
    case F_MSG:
    case F_MSGS:
        return write_structs(f, d, s, b);
    case F_COL:
    case F_COL_TEXT:
        return write_column(f, d, s, b);
    case F_ROWS:
        break;
    }
    assert(!"a kind of field");
    return SQ_EINVAL;
}

static unsigned find_row(const struct fields *t, const desc *d)
{
    const size_t bytes = offsetof(ProtobufCBinaryData, data); /* offset of the bytes of a column */

    for (unsigned i = 0; i < t->n; i++) {
        const struct field *f = &t->v[i];

        if (f->kind != F_ROWS && f->pb - (f->pb_width == 1 ? bytes : 0) == d->offset)
            return i;
    }
    assert(!"a row for each field"); /* test_codec looks */
    return 0;
}

/* The row of the table for the i-th field, which is looked for once in the life of a process. */
static const struct field *row_of(const struct fields *t, unsigned i)
{
    assert(i < t->n && t->n < UINT8_MAX);
    if (SQ_UNLIKELY(t->order[i] == 0))
        t->order[i] = (uint8_t)(1 + find_row(t, &t->desc->fields[i]));
    return &t->v[t->order[i] - 1];
}

/* A bad value would end the link: our own log says which message it is. */
static int unfit(const struct fields *t, const char *field)
{
    log_error("event=unfit_message message=%s field=%s", t->desc->short_name, field);
    return SQ_EINVAL;
}

static int write_struct(const struct fields *t, const char *s, struct buf *b)
{
    for (unsigned i = 0; i < t->desc->n_fields; i++) {
        const desc *d = &t->desc->fields[i];
        int rc = write_field(row_of(t, i), d, s, b);

        if (SQ_UNLIKELY(rc < 0))
            return rc == SQ_EINVAL ? unfit(t, d->name) : rc;
    }
    return t->holds == NULL || t->holds(s) ? 0 : unfit(t, "");
}

int fields_write(const struct fields *t, const void *s, struct buf *b)
{
    size_t from = b->len;
    int rc = write_struct(t, s, b);

    if (rc == 0)
        rc = b->failed ? SQ_ENOMEM : b->len - from > FRAME_MAX_BODY ? SQ_ETOOBIG : 0;
    if (rc < 0)
        b->len = from;
    return rc;
}

/* ---- and to it ---------------------------------------------------------------------------- */

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
static bool take_number(const struct field *f, char *to, const char *from)
{
    uint64_t v = number(from, f->pb_width, f->pb_signed);

    if (v == 0)
        return f->least == 0;
    if (f->later && v > f->most)
        v = 0;
    store(to, f->width, v);
    return v >= f->least && v <= f->most && number(to, f->width, f->is_signed) == v;
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
        w->n = count_of(f, pb);
        w->step = f->step;
        if (!take_array(f, w->n, s, w->a))
            return false;
        w->rows = array_of(f, s);
        return true;
    case F_COL:
        return take_column(f, pb, w);
    case F_COL_TEXT:
        return take_texts(f, pb, w);
    }
    assert(!"a kind of field");
    return false;
}

bool fields_take(const struct fields *t, const void *pb, struct arena *a, void *s)
{
    struct walk w = { .a = a };

    assert(((const ProtobufCMessage *)pb)->descriptor == t->desc);
    for (unsigned i = 0; i < t->n; i++)
        if (!take(&t->v[i], pb, s, &w))
            return false;
    if (t->finish != NULL)
        t->finish(s);
    return t->holds == NULL || t->holds(s);
}
