/* codec.c: one table, made of the lists of msg.h, from message types to the codec_*.c files,
 * and what is the same for all of them: packing, unpacking, limits, memory. */
#include "common/wire/codec.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#include "common/wire/codec_directory.h"
#include "common/wire/codec_flat.h"
#include "common/wire/codec_router_manager.h"
#include "common/wire/codec_router_segment.h"
#include "common/wire/codec_segment_manager.h"
#include "common/wire/codec_segment_segment.h"
#include "common/wire/columns.h"
#include "common/wire/columns_read.h"
#include "common/wire/frame.h"

#define PB_MAX_BYTES 512 /* the largest generated struct; asserted */

struct codec_row {
    const struct columns *columns; /* one of MSG_BATCHES; else NULL, and: */
    const ProtobufCMessageDescriptor *desc;
    bool (*fill)(const struct msg *m, void *pb, struct arena *a);
    bool (*take)(const void *pb, struct arena *a, struct msg *m);
};

static const struct codec_row rows[] = {
#define X(name, number, member, ways) [MSG_##name] = { .columns = &codec_##member##_columns },
    MSG_BATCHES(X)
#undef X
#define X(name, number, member, ways)                                                    \
    [MSG_##name] = { .desc = &segq__##member##__descriptor,                              \
                     .fill = codec_fill_##member,                                        \
                     .take = codec_take_##member },
    MSG_RECORDS(X)
#undef X
};

/* NULL: not a type that we know, or one of the hello. */
static const struct codec_row *row_of(unsigned type)
{
    const struct codec_row *row = type < ARRAY_LEN(rows) ? &rows[type] : NULL;

    return row != NULL && (row->columns != NULL || row->desc != NULL) ? row : NULL;
}

static int pack(const ProtobufCMessage *pb, struct buf *out)
{
    size_t n = protobuf_c_message_get_packed_size(pb);
    uint8_t *at;

    if (n > FRAME_MAX_BODY)
        return SQ_ETOOBIG;
    at = buf_reserve(out, n);
    if (at == NULL)
        return SQ_ENOMEM;
    out->len += protobuf_c_message_pack(pb, at);
    assert(at + n == out->data + out->len);
    return 0;
}

int msg_encode(const struct msg *m, struct buf *out)
{
    const struct codec_row *row;
    alignas(max_align_t) char pb[PB_MAX_BYTES];
    struct arena tmp;
    int rc;

    row = row_of(m->type);
    if (row == NULL)
        return SQ_EUNKNOWN;
    if (row->columns != NULL)
        return columns_encode(row->columns, m->batch.rows, m->batch.n, out);
    assert(row->desc->sizeof_message <= sizeof(pb));
    arena_init(&tmp); /* takes memory only for messages with lists */
    protobuf_c_message_init(row->desc, pb);
    if (row->fill(m, pb, &tmp))
        rc = pack((const ProtobufCMessage *)pb, out);
    else
        rc = tmp.failed ? SQ_ENOMEM : SQ_ETOOBIG;
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
    pb = protobuf_c_message_unpack(row->desc, &alloc, len, body);
    if (pb != NULL && row->take(pb, a, m))
        return 0;
    return a->failed ? SQ_ENOMEM : SQ_EPROTO;
}
