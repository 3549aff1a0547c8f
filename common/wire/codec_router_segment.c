/* codec_router_segment.c: proto/router_segment.proto: polls, joins and leaves. Pure.
 * The hot path: read and written by hand (columns.c), wire compatible with the .proto;
 * tests/unit/common/test_codec.c compares with generated code. */
#include "common/wire/codec_int.h"
#include "common/wire/columns.h"

#define WIDTH(row, f) ((uint8_t)sizeof(((struct row *)0)->f))
#define NUM(row, f, most)                                                                \
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
#define TABLE(row, cols)                                                                 \
    .v = (cols), .n = ARRAY_LEN(cols), .row_bytes = sizeof(struct row),                  \
    .max_rows = MSG_BATCH_MAX

static const struct column place_cols[] = {
    NUM(place_req, seg, UINT64_MAX),
    NUM(place_req, number, UINT32_MAX),
    BYTE(place_req, client, CLIENT_NCLASSES),
};

static const struct column place_ans_cols[] = {
    BYTE(place_ans, state, PLACE_NSTATES),
    BYTE(place_ans, reason, GONE_NREASONS),
    NUM(place_ans, position, UINT64_MAX), /* and moved_to, the same member */
    NUM(place_ans, poll_after_ms, UINT32_MAX),
    { .kind = COL_TEXT, .off = offsetof(struct place_ans, pass), .some = true, .must = true,
      .off_len = offsetof(struct place_ans, pass_len), .width = WIDTH(place_ans, pass_len),
      .max = MSG_PASS_MAX },
    SOME_NUM(place_ans, released_at_ms, UINT64_MAX),
    SOME_NUM(place_ans, pass_expires_s, UINT64_MAX),
};

static const struct column append_cols[] = {
    NUM(append_req, seg, UINT64_MAX),
    BYTE(append_req, client, CLIENT_NCLASSES),
    { .kind = COL_FIX64, .off = offsetof(struct append_req, subject_hash), .width = 8,
      .max = UINT64_MAX },
    { .kind = COL_TEXT, .off = offsetof(struct append_req, subject),
      .off_len = offsetof(struct append_req, subject_len), .width = 1,
      .max = SUBJECT_MAX_LEN },
};

static const struct column append_ans_cols[] = {
    BYTE(append_ans, state, APPEND_NSTATES),
    BYTE(append_ans, client, CLIENT_NCLASSES),
    NUM(append_ans, number, UINT32_MAX),
    NUM(append_ans, issued_s, UINT32_MAX),
    NUM(append_ans, poll_after_ms, UINT32_MAX),
    NUM(append_ans, position, UINT64_MAX), /* and next, the same member */
    NUM(append_ans, seg, UINT64_MAX),
    BYTE(append_ans, no_place, NO_PLACE_N),
};

static const struct column drop_cols[] = {
    NUM(drop_req, seg, UINT64_MAX),
    NUM(drop_req, number, UINT32_MAX),
};

static const struct column drop_ans_cols[] = {
    BYTE(drop_ans, state, DROP_NSTATES),
    NUM(drop_ans, moved_to, UINT64_MAX),
    NUM(drop_ans, moved_number, UINT32_MAX),
};

static const struct column passes_cols[] = {
    NUM(pass_row, seg, UINT64_MAX),
    NUM(pass_row, number, UINT32_MAX),
    BYTE(pass_row, state, PASS_NSTATES),
    NUM(pass_row, until_s, UINT64_MAX),
};

static const struct column session_cols[] = {
    NUM(sess_req, seg, UINT64_MAX),
    NUM(sess_req, number, UINT32_MAX),
    BYTE(sess_req, command, SESS_NCOMMANDS),
    NUM(sess_req, until_s, UINT64_MAX),
    BYTE(sess_req, renews, 2),
};

static const struct column session_ans_cols[] = {
    BYTE(sess_ans, state, SESS_NSTATES),
    NUM(sess_ans, moved_to, UINT64_MAX),
    NUM(sess_ans, until_s, UINT64_MAX),
    { .kind = COL_TEXT, .off = offsetof(struct sess_ans, pass),
      .off_len = offsetof(struct sess_ans, pass_len), .width = WIDTH(sess_ans, pass_len),
      .max = MSG_PASS_MAX },
};

/* by type - MSG_PLACE */
static const struct columns tables[] = {
    { TABLE(place_req, place_cols) },
    { TABLE(place_ans, place_ans_cols), .some_off = offsetof(struct place_ans, state),
      .some_value = PLACE_ADMITTED },
    { TABLE(append_req, append_cols) },
    { TABLE(append_ans, append_ans_cols) },
    { TABLE(drop_req, drop_cols) },
    { TABLE(drop_ans, drop_ans_cols) },
    { TABLE(pass_row, passes_cols) },
    { TABLE(sess_req, session_cols) },
    { TABLE(sess_ans, session_ans_cols) },
};

/* The nine messages are the same shape: a count and a pointer to rows. */
_Static_assert(offsetof(struct msg_place, n) == offsetof(struct msg_place_ans, n), "n");
_Static_assert(offsetof(struct msg_place, n) == offsetof(struct msg_append, n), "n");
_Static_assert(offsetof(struct msg_place, n) == offsetof(struct msg_append_ans, n), "n");
_Static_assert(offsetof(struct msg_place, n) == offsetof(struct msg_drop, n), "n");
_Static_assert(offsetof(struct msg_place, n) == offsetof(struct msg_drop_ans, n), "n");
_Static_assert(offsetof(struct msg_place, n) == offsetof(struct msg_passes, n), "n");
_Static_assert(offsetof(struct msg_place, n) == offsetof(struct msg_session, n), "n");
_Static_assert(offsetof(struct msg_place, n) == offsetof(struct msg_session_ans, n), "n");

bool codec_is_batch(unsigned type)
{
    return type >= MSG_PLACE && type <= MSG_SESSION_ANS;
}

static const void *batch_rows(const struct msg *m, uint32_t *n)
{
    *n = m->place.n;
    switch (m->type) {
    case MSG_PLACE:
        return m->place.req;
    case MSG_PLACE_ANS:
        return m->place_ans.ans;
    case MSG_APPEND:
        return m->append.req;
    case MSG_APPEND_ANS:
        return m->append_ans.ans;
    case MSG_DROP:
        return m->drop.req;
    case MSG_DROP_ANS:
        return m->drop_ans.ans;
    case MSG_SESSION:
        return m->session.req;
    case MSG_SESSION_ANS:
        return m->session_ans.ans;
    default:
        return m->passes.rows;
    }
}

int codec_batch_encode(const struct msg *m, struct buf *out)
{
    uint32_t n;
    const void *rows = batch_rows(m, &n);

    return columns_encode(&tables[m->type - MSG_PLACE], rows, n, out);
}

static void batch_set(struct msg *m, void *rows, uint32_t n)
{
    m->place.n = n;
    switch (m->type) {
    case MSG_PLACE:
        m->place.req = rows;
        break;
    case MSG_PLACE_ANS:
        m->place_ans.ans = rows;
        break;
    case MSG_APPEND:
        m->append.req = rows;
        break;
    case MSG_APPEND_ANS:
        m->append_ans.ans = rows;
        break;
    case MSG_DROP:
        m->drop.req = rows;
        break;
    case MSG_DROP_ANS:
        m->drop_ans.ans = rows;
        break;
    case MSG_SESSION:
        m->session.req = rows;
        break;
    case MSG_SESSION_ANS:
        m->session_ans.ans = rows;
        break;
    default:
        m->passes.rows = rows;
    }
}

int codec_batch_decode(const uint8_t *body, size_t len, struct arena *a, struct msg *m)
{
    void *rows = NULL;
    uint32_t n = 0;
    int rc = columns_decode(&tables[m->type - MSG_PLACE], body, len, a, &rows, &n);

    if (rc == 0)
        batch_set(m, rows, n);
    return rc;
}
