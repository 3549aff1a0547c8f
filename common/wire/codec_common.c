/* codec_common.c: messages of proto/common.proto, spoken on every link. Pure. */
#include "common/wire/codec_int.h"
#include "proto/common.pb-c.h"

#define ERROR_FIELDS(N, T, W) N(code) N(about) W(text, CODEC_WHY_MAX)
CODEC_FLAT(error, Segq__Error, ERROR_FIELDS, true)

static const struct codec_row rows[] = {
    CODEC_ROW(MSG_ERROR, ERROR, error),
};

const struct codec_link codec_common = { MSG_ERROR, ARRAY_LEN(rows), rows };
