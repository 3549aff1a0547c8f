/* codec.c: from message types to their tables; limits, memory. */
#include "common/wire/codec.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "common/wire/codec_records.h"
#include "common/wire/codec_tasks.h"
#include "common/wire/columns.h"
#include "common/wire/fields_in.h"

/* ---- batches: the columns of each (proto/router_segment.proto) ---- */

#define WIDTH(row, f) ((uint8_t)sizeof(((struct row *)0)->f))
#define BATCH_NUM(row, f, most)                                                                \
    {                                                                                    \
        .kind = COL_NUM, .off = offsetof(struct row, f), .width = WIDTH(row, f),         \
        .max = (most)                                                                    \
    }
#define SOME_NUM(row, f, most)                                                           \
    {                                                                                    \
        .kind = COL_NUM, .off = offsetof(struct row, f), .width = WIDTH(row, f),         \
        .max = (most), .some = true                                                      \
    }
#define BYTE(row, f, limit)                                                              \
    {                                                                                    \
        .kind = COL_BYTE, .off = offsetof(struct row, f), .width = 1, .max = (limit)-1   \
    }
static const struct column place_cols[] = {
    BATCH_NUM(place_req, seg, UINT64_MAX),
    BATCH_NUM(place_req, number, UINT32_MAX),
    BYTE(place_req, client, CLIENT_NCLASSES),
};

static const struct column place_ans_cols[] = {
    BYTE(place_ans, state, PLACE_NSTATES),
    BYTE(place_ans, reason, GONE_NREASONS),
    BATCH_NUM(place_ans, position, UINT64_MAX), /* and moved_to, the same member */
    BATCH_NUM(place_ans, poll_after_ms, UINT32_MAX),
    { .kind = COL_TEXT, .off = offsetof(struct place_ans, pass), .some = true, .must = true,
      .off_len = offsetof(struct place_ans, pass_len), .width = WIDTH(place_ans, pass_len),
      .max = MSG_PASS_MAX },
    SOME_NUM(place_ans, released_at_ms, UINT64_MAX),
    SOME_NUM(place_ans, pass_expires_s, UINT64_MAX),
};

static const struct column append_cols[] = {
    BATCH_NUM(append_req, seg, UINT64_MAX),
    BYTE(append_req, client, CLIENT_NCLASSES),
    { .kind = COL_FIX64, .off = offsetof(struct append_req, subject_hash), .width = 8,
      .max = UINT64_MAX },
    { .kind = COL_TEXT, .off = offsetof(struct append_req, subject),
      .off_len = offsetof(struct append_req, subject_len), .width = 1,
      .max = SUBJECT_TEXT_MAX },
    BATCH_NUM(append_req, old_seg, UINT64_MAX),
    BATCH_NUM(append_req, old_number, UINT32_MAX),
    BATCH_NUM(append_req, old_issued_s, UINT32_MAX),
    BYTE(append_req, later, 2),
};

static const struct column append_ans_cols[] = {
    BYTE(append_ans, state, APPEND_NSTATES),
    BYTE(append_ans, client, CLIENT_NCLASSES),
    BATCH_NUM(append_ans, number, UINT32_MAX),
    BATCH_NUM(append_ans, issued_s, UINT32_MAX),
    BATCH_NUM(append_ans, poll_after_ms, UINT32_MAX),
    BATCH_NUM(append_ans, position, UINT64_MAX), /* and next, the same member */
    BATCH_NUM(append_ans, seg, UINT64_MAX),
    BYTE(append_ans, no_place, NO_PLACE_N),
    { .kind = COL_TEXT, .off = offsetof(struct append_ans, pass), .some = true, .must = true,
      .off_len = offsetof(struct append_ans, pass_len), .width = WIDTH(append_ans, pass_len),
      .max = MSG_PASS_MAX },
    SOME_NUM(append_ans, released_at_ms, UINT64_MAX),
    SOME_NUM(append_ans, pass_expires_s, UINT64_MAX),
    BYTE(append_ans, row, MSG_BATCH_MAX),
};

static const struct column drop_cols[] = {
    BATCH_NUM(drop_req, seg, UINT64_MAX),
    BATCH_NUM(drop_req, number, UINT32_MAX),
    { .kind = COL_FIX64, .off = offsetof(struct drop_req, heir_hash), .width = 8,
      .max = UINT64_MAX },
};

static const struct column drop_ans_cols[] = {
    BYTE(drop_ans, state, DROP_NSTATES),
    BATCH_NUM(drop_ans, moved_to, UINT64_MAX),
};

static const struct column passes_cols[] = {
    BATCH_NUM(pass_row, seg, UINT64_MAX),
    BATCH_NUM(pass_row, number, UINT32_MAX),
    BYTE(pass_row, state, PASS_NSTATES),
    BATCH_NUM(pass_row, until_s, UINT64_MAX),
};

static const struct column session_cols[] = {
    BATCH_NUM(sess_req, seg, UINT64_MAX),
    BATCH_NUM(sess_req, number, UINT32_MAX),
    BYTE(sess_req, command, SESS_NCOMMANDS),
    BATCH_NUM(sess_req, until_s, UINT64_MAX),
    BYTE(sess_req, renews, 2),
};

static const struct column session_ans_cols[] = {
    BYTE(sess_ans, state, SESS_NSTATES),
    BATCH_NUM(sess_ans, moved_to, UINT64_MAX),
    BATCH_NUM(sess_ans, until_s, UINT64_MAX),
    { .kind = COL_TEXT, .off = offsetof(struct sess_ans, pass),
      .off_len = offsetof(struct sess_ans, pass_len), .width = WIDTH(sess_ans, pass_len),
      .max = MSG_PASS_MAX },
};

#define COLUMNS(name, row, ...)                                                          \
    const struct columns codec_##name##_columns = {                                      \
        .v = name##_cols, .n = ARRAY_LEN(name##_cols), .row_bytes = sizeof(struct row),  \
        .max_rows = MSG_BATCH_MAX, __VA_ARGS__                                           \
    };

COLUMNS(place, place_req)
COLUMNS(place_ans, place_ans, .some_off = offsetof(struct place_ans, state),
        .some_value = PLACE_ADMITTED)
COLUMNS(append, append_req)
COLUMNS(append_ans, append_ans, .some_off = offsetof(struct append_ans, state),
        .some_value = APPEND_ENTERED)
COLUMNS(drop, drop_req)
COLUMNS(drop_ans, drop_ans)
COLUMNS(passes, pass_row)
COLUMNS(session, sess_req)
COLUMNS(session_ans, sess_ans)

/* ---- messages ---- */

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

/* ---- frames: the 16 bytes before every body ---- */

static uint64_t get_le(const uint8_t *p, unsigned n)
{
    uint64_t v = 0;

    while (n-- > 0)
        v = v << 8 | p[n];
    return v;
}

static void put_le(uint8_t *p, uint64_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++, v >>= 8)
        p[i] = (uint8_t)v;
}

int64_t frame_parse(const uint8_t *p, size_t n, size_t max_body, struct frame *f)
{
    size_t len;

    assert(max_body <= FRAME_MAX_BODY);
    /* The version byte is looked at as soon as it is there: garbage is refused at once
     * and not after it has been waited for. */
    if (n >= 5 && p[4] != FRAME_VERSION)
        return SQ_EPROTO;
    if (n < 4)
        return 0;
    len = get_le(p, 4);
    if (len > max_body)
        return SQ_ETOOBIG;
    if (n < FRAME_HEADER_BYTES || n - FRAME_HEADER_BYTES < len)
        return 0;
    f->version = p[4];
    f->flags = p[5];
    f->type = (uint16_t)get_le(p + 6, 2);
    f->rid = get_le(p + 8, 8);
    f->body = p + FRAME_HEADER_BYTES;
    f->len = len;
    return (int64_t)(FRAME_HEADER_BYTES + len);
}

size_t frame_need(const uint8_t *p, size_t n)
{
    return n < 4 ? FRAME_HEADER_BYTES : FRAME_HEADER_BYTES + (size_t)get_le(p, 4);
}

void frame_header(uint8_t out[FRAME_HEADER_BYTES], uint16_t type, uint8_t flags,
                  uint64_t rid, uint32_t body_len)
{
    put_le(out, body_len, 4);
    out[4] = FRAME_VERSION;
    out[5] = flags;
    put_le(out + 6, type, 2);
    put_le(out + 8, rid, 8);
}
