/* codec_batches.c: proto/router_segment.proto: polls, joins and leaves.
 * The hot path: read and written by hand (columns.c), wire compatible with the .proto;
 * tests/unit/common/test_codec.c compares with generated code. */
#include "common/wire/codec_batches.h"

#include <stddef.h>

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
      .max = SUBJECT_TEXT_MAX },
    NUM(append_req, old_seg, UINT64_MAX),
    NUM(append_req, old_number, UINT32_MAX),
    NUM(append_req, old_issued_s, UINT32_MAX),
    BYTE(append_req, later, 2),
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
    { .kind = COL_TEXT, .off = offsetof(struct append_ans, pass), .some = true, .must = true,
      .off_len = offsetof(struct append_ans, pass_len), .width = WIDTH(append_ans, pass_len),
      .max = MSG_PASS_MAX },
    SOME_NUM(append_ans, released_at_ms, UINT64_MAX),
    SOME_NUM(append_ans, pass_expires_s, UINT64_MAX),
    BYTE(append_ans, row, MSG_BATCH_MAX),
};

static const struct column drop_cols[] = {
    NUM(drop_req, seg, UINT64_MAX),
    NUM(drop_req, number, UINT32_MAX),
    { .kind = COL_FIX64, .off = offsetof(struct drop_req, heir_hash), .width = 8,
      .max = UINT64_MAX },
};

static const struct column drop_ans_cols[] = {
    BYTE(drop_ans, state, DROP_NSTATES),
    NUM(drop_ans, moved_to, UINT64_MAX),
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
