/* codec.c: from message types to their tables; limits, memory. */
#include "common/wire/codec.h"

#include <string.h>

#include "common/wire/codec_batches.h"
#include "common/wire/codec_records.h"
#include "common/wire/codec_tasks.h"
#include "common/wire/columns.h"
#include "common/wire/fields_in.h"
#include "common/wire/frame.h"

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

int msg_encode(const struct msg *m, struct buf *out)
{
    const struct codec_row *row = row_of(m->type);

    if (row == NULL)
        return SQ_EUNKNOWN;
    if (row->columns != NULL)
        return columns_encode(row->columns, m->batch.rows, m->batch.n, out);
    return fields_write(row->fields(), MEMBER_OF(m), out);
}

/* Messages of which a task has one or more, or an answer's pieces have; all others are few, and protobuf-c
 * reads them. */
static bool is_hot(unsigned type)
{
    switch (type) {
    case MSG_TASK_PUT:
    case MSG_TASK_PUT_ANS:
    case MSG_TASK_TAKE:
    case MSG_TASK_TAKE_ANS:
    case MSG_TASK_SETTLE:
    case MSG_TASK_SETTLE_ANS:
    case MSG_TASK_GET:
    case MSG_TASK_GET_ANS:
    case MSG_TASK_UPLOAD:
    case MSG_TASK_PIECE:
    case MSG_TASK_FLOW:
        return true;
    default:
        return false;
    }
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
    if (is_hot(type))
        return fields_read(row->fields(), body, body + len, a, MEMBER_OF(m)) ? 0
               : a->failed ? SQ_ENOMEM : SQ_EPROTO;
    pb = protobuf_c_message_unpack(row->fields()->desc, &alloc, len, body);
    if (pb != NULL && fields_take(row->fields(), pb, a, MEMBER_OF(m)))
        return 0;
    return a->failed ? SQ_ENOMEM : SQ_EPROTO;
}
