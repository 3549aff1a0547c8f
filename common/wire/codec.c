/* codec.c: from message types to their tables; packing, unpacking, limits, memory. */
#include "common/wire/codec.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/wire/codec_batches.h"
#include "common/wire/codec_records.h"
#include "common/wire/codec_tasks.h"
#include "common/wire/columns.h"
#include "common/wire/frame.h"
#include "common/wire/number.h"

#define PB_MAX_BYTES 512 /* the largest generated struct; asserted */
#define LISTS_USUAL  2048 /* a message with longer lists takes memory while it is packed */

/* Either of the two: */
struct codec_row {
    const struct columns *columns;        /* for MSG_BATCHES */
    const struct fields *(*fields)(void); /* for MSG_RECORDS */
};

static const struct codec_row rows[] = {
#define X(name, number, member, ways) [MSG_##name] = { .columns = &codec_##member##_columns },
    MSG_BATCHES(X)
#undef X
#define X(name, number, member, ways) [MSG_##name] = { .fields = codec_##member##_fields },
    MSG_RECORDS(X)
#undef X
};

/* Each struct msg_NAME in a message. */
#define MEMBER_OF(m) ((char *)(m) + offsetof(struct msg, batch))

/* NULL: not a type that we know, or one of the hello. */
static const struct codec_row *row_of(unsigned type)
{
    const struct codec_row *row = type < ARRAY_LEN(rows) ? &rows[type] : NULL;

    return row != NULL && (row->columns != NULL || row->fields != NULL) ? row : NULL;
}

/* ---- generated structs to bytes -------------------------------------------------------------
 * What protobuf_c_message_pack() writes, byte for byte, in one walk that asks for no size first.
 * Our texts are `bytes`, and there are no unknown fields. */

enum { VARINT = 0, EIGHT = 1, LENGTH = 2 }; /* wire types */

static uint8_t *put_tag(uint8_t *to, const ProtobufCFieldDescriptor *f, unsigned wire)
{
    return varint_put(to, (uint64_t)f->id << 3 | wire);
}

/* Length of a number as a varint. */
INLINE uint64_t value(ProtobufCType type, const char *p)
{
    uint64_t v;

    switch (type) {
    case PROTOBUF_C_TYPE_SINT32:
        v = load(p, 4);
        return (uint32_t)(v << 1) ^ (0 - (uint32_t)(v >> 31));
    case PROTOBUF_C_TYPE_SINT64:
        v = load(p, 8);
        return v << 1 ^ (0 - (v >> 63));
    case PROTOBUF_C_TYPE_BOOL:
        return load(p, 4) != 0;
    case PROTOBUF_C_TYPE_UINT32:
        return load(p, 4);
    default:
        assert(type == PROTOBUF_C_TYPE_UINT64 || type == PROTOBUF_C_TYPE_INT64 ||
               type == PROTOBUF_C_TYPE_FIXED64);
        return load(p, 8);
    }
}

static void put_number(const ProtobufCFieldDescriptor *f, const char *at, struct buf *b)
{
    uint64_t v = value(f->type, at);
    uint8_t *to = v == 0 ? NULL : buf_room(b, 2 * VARINT_MAX);

    if (to == NULL)
        return;
    if (f->type == PROTOBUF_C_TYPE_FIXED64) {
        to = put_tag(to, f, EIGHT);
        memcpy(to, &v, 8); /* the lowest byte first */
        to += 8;
    } else {
        to = varint_put(put_tag(to, f, VARINT), v);
    }
    b->len = (size_t)(to - b->data);
}

static void put_bytes(const ProtobufCFieldDescriptor *f, const ProtobufCBinaryData *d, struct buf *b)
{
    uint8_t *to = buf_room(b, 2 * VARINT_MAX);

    if (to == NULL)
        return;
    b->len = (size_t)(varint_put(put_tag(to, f, LENGTH), d->len) - b->data);
    buf_append(b, d->data, d->len);
}

/* Writes a part with its length in front, which is known behind it. */
#define LENGTH_ROOM 2 /* bytes of most lengths */

/* Where the length will be. */
static size_t begin(const ProtobufCFieldDescriptor *f, struct buf *b)
{
    uint8_t *to = buf_room(b, VARINT_MAX + LENGTH_ROOM);

    if (to == NULL)
        return 0;
    b->len = (size_t)(put_tag(to, f, LENGTH) + LENGTH_ROOM - b->data);
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

static void pack_message(const ProtobufCMessage *m, struct buf *out);

static void put_message(const ProtobufCFieldDescriptor *f, const ProtobufCMessage *m, struct buf *b)
{
    size_t at = begin(f, b);

    pack_message(m, b);
    end(at, b);
}

/* All in one field. */
static void put_numbers(const ProtobufCFieldDescriptor *f, const char *v, size_t n, struct buf *b)
{
    unsigned width = f->type == PROTOBUF_C_TYPE_UINT32 || f->type == PROTOBUF_C_TYPE_SINT32 ||
                             f->type == PROTOBUF_C_TYPE_BOOL ? 4 : 8;
    size_t at = begin(f, b);

    assert((f->flags & PROTOBUF_C_FIELD_FLAG_PACKED) != 0);
    if (f->type == PROTOBUF_C_TYPE_FIXED64)
        buf_append(b, v, 8 * n);
    else
        for (size_t i = 0; i < n; i++)
            buf_varint(b, value(f->type, v + i * width));
    end(at, b);
}

static void put_list(const ProtobufCFieldDescriptor *f, const ProtobufCMessage *m, struct buf *b)
{
    size_t n = load((const char *)m + f->quantifier_offset, sizeof(n));
    const char *v;

    memcpy(&v, (const char *)m + f->offset, sizeof(v));
    if (f->type == PROTOBUF_C_TYPE_BYTES)
        for (size_t i = 0; i < n; i++)
            put_bytes(f, (const ProtobufCBinaryData *)(const void *)v + i, b);
    else if (f->type == PROTOBUF_C_TYPE_MESSAGE)
        for (size_t i = 0; i < n; i++)
            put_message(f, ((ProtobufCMessage *const *)(const void *)v)[i], b);
    else if (n > 0)
        put_numbers(f, v, n, b);
}

static void pack_message(const ProtobufCMessage *m, struct buf *out)
{
    const ProtobufCFieldDescriptor *f = m->descriptor->fields, *last = f + m->descriptor->n_fields;

    for (; f < last; f++) {
        const char *at = (const char *)m + f->offset;
        ProtobufCMessage *sub;

        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            put_list(f, m, out);
        } else if (f->type == PROTOBUF_C_TYPE_BYTES) {
            if (((const ProtobufCBinaryData *)(const void *)at)->len > 0)
                put_bytes(f, (const ProtobufCBinaryData *)(const void *)at, out);
        } else if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
            memcpy(&sub, at, sizeof(sub));
            if (sub != NULL)
                put_message(f, sub, out);
        } else {
            put_number(f, at, out);
        }
    }
}

static int pack(const ProtobufCMessage *pb, struct buf *out)
{
    size_t from = out->len;
    int rc;

    pack_message(pb, out);
    rc = out->failed ? SQ_ENOMEM : out->len - from > FRAME_MAX_BODY ? SQ_ETOOBIG : 0;
    if (rc < 0)
        out->len = from;
    return rc;
}

/* ---- messages ------------------------------------------------------------------------------- */

int msg_encode(const struct msg *m, struct buf *out)
{
    const struct codec_row *row = row_of(m->type);
    alignas(max_align_t) char pb[PB_MAX_BYTES];
    const struct fields *t;
    alignas(max_align_t) uint8_t first[ARENA_LENT(LISTS_USUAL)];
    struct arena tmp;
    int rc;

    if (row == NULL)
        return SQ_EUNKNOWN;
    if (row->columns != NULL)
        return columns_encode(row->columns, m->batch.rows, m->batch.n, out);
    t = row->fields();
    assert(t->desc->sizeof_message <= sizeof(pb));
    arena_init_lent(&tmp, first, LISTS_USUAL);
    protobuf_c_message_init(t->desc, pb);
    rc = fields_fill(t, MEMBER_OF(m), pb, &tmp);
    if (rc == 0)
        rc = pack((const ProtobufCMessage *)pb, out);
    arena_fini(&tmp);
    return rc;
}

static void *pb_alloc(void *ctx, size_t n)
{
    return arena_alloc(ctx, n);
}

static void pb_free(void *ctx, void *p)
{
    (void)ctx; /* the arena is given back as a whole */
    (void)p;
}

int msg_decode(uint16_t type, const uint8_t *body, size_t len, struct arena *a,
               struct msg *m)
{
    ProtobufCAllocator alloc = { pb_alloc, pb_free, a };
    const struct codec_row *row;
    const ProtobufCMessage *pb;

    memset(m, 0, sizeof(*m));
    m->type = type;
    if (len > FRAME_MAX_BODY)
        return SQ_EPROTO;
    row = row_of(type);
    if (row == NULL)
        return SQ_EUNKNOWN;
    if (row->columns != NULL)
        return columns_decode(row->columns, body, len, a, &m->batch.rows, &m->batch.n);
    pb = protobuf_c_message_unpack(row->fields()->desc, &alloc, len, body);
    if (pb != NULL && fields_take(row->fields(), pb, a, MEMBER_OF(m)))
        return 0;
    return a->failed ? SQ_ENOMEM : SQ_EPROTO;
}
