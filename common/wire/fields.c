/* fields.c: the walk of a table, from a struct. */
#include "common/wire/fields.h"

#include <assert.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/wire/codec.h"

#define LOG_MODULE "wire"

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
    size_t n;

    if (f->kind == F_TEXT && f->n_width == 0 && (text == NULL || *text == '\0')) /* most are */
        return 0;
    n = f->n_width != 0 ? load(at + f->n, f->n_width) : text != NULL ? strlen(text) : 0;
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

void fields_find_row(const struct fields *t, unsigned i)
{
    assert(i < t->n && t->n < UINT8_MAX);
    t->order[i] = (uint8_t)(1 + find_row(t, &t->desc->fields[i]));
}

/* A bad value would end the link: our own log says which message it is. */
static int unfit(const struct fields *t, const char *field)
{
    log_error("event=unfit_message message=%s field=%s", t->desc->short_name, field);
    return SQ_EINVAL;
}

static int write_struct(const struct fields *t, const char *s, struct buf *b)
{
    const desc *d = t->desc->fields, *end = d + t->desc->n_fields; /* kept: what is written may be anywhere */
    const struct field *v = t->v;
    const uint8_t *row = t->order;

    for (; d < end; d++, row++) {
        int rc;

        if (SQ_UNLIKELY(*row == 0))
            fields_find_row(t, (unsigned)(row - t->order));
        rc = write_field(&v[*row - 1], d, s, b);
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
