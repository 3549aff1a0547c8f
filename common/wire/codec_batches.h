/* codec_batches.h: the columns of each message of MSG_BATCHES: polls, joins, leaves,
 * sessions: proto/router_segment.proto. Pure. */
#ifndef SEGQ_CODEC_BATCHES_H
#define SEGQ_CODEC_BATCHES_H

#include "common/wire/columns.h"
#include "common/wire/msg.h"

#define X(name, number, member, ways) extern const struct columns codec_##member##_columns;
MSG_BATCHES(X)
#undef X

#endif
