/* codec_why.c: WHY, WHY_ANS. Pure. */
#include "common/wire/codec_int.h"

#include "proto/why.pb-c.h"

#define WHY_FIELDS(N, T, W) N(ask) N(seg) N(number) N(client)
#define WHY_ANS_FIELDS(N, T, W)                                                          \
    N(ask) N(more) N(lines_only) N(state) N(reason) N(unkept) N(fenced) N(segment)       \
    N(moved_to) N(position) N(left_ms) N(told_ms) N(silent_ms) N(released_at_ms)         \
    N(pass_expires_s) N(trail) N(trail_whole) N(trail_bytes) T(lines, WHY_LINES_MAX)

CODEC_FLAT(why, Segq__Why, WHY_FIELDS, true)
/* A later node's states and reasons are not ours to refuse: they are shown as unknown. */
CODEC_FLAT(why_ans, Segq__WhyAns, WHY_ANS_FIELDS, true)

#define FIRST MSG_WHY
static const struct codec_row rows[] = {
    CODEC_ROW(FIRST, WHY, why),
    CODEC_ROW(FIRST, WHY_ANS, why_ans),
};

const struct codec_link codec_why = { FIRST, ARRAY_LEN(rows), rows };
