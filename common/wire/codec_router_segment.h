/* codec_router_segment.h: the columns of each message of MSG_BATCHES: polls, joins, leaves,
 * sessions: proto/router_segment.proto. Pure. */
#ifndef SEGQ_CODEC_ROUTER_SEGMENT_H
#define SEGQ_CODEC_ROUTER_SEGMENT_H

#include "common/wire/columns.h"
#include "common/wire/msg.h"

#define X(name, number, member, ways) extern const struct columns codec_##member##_columns;
MSG_BATCHES(X)
#undef X

#endif
