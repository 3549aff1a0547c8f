/* codec.h: messages to bytes and back. The only users of generated protobuf headers are
 * codec_*.c, one per link (codec_router_segment.c, codec_router_manager.c,
 * codec_segment_manager.c, codec_segment_segment.c), behind this one table. */
#ifndef SEGQ_CODEC_H
#define SEGQ_CODEC_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/wire/msg.h"

/* Appends the body (no frame header). 0, SQ_ENOMEM, SQ_ETOOBIG (body unchanged then). */
SQ_CHECK int msg_encode(const struct msg *m, struct buf *out);
/* 0; SQ_EUNKNOWN: a type this build does not know; SQ_EPROTO: damaged, or a column has
 * the wrong length, or a count is above its limit, or an enum out of range; SQ_ENOMEM.
 * *m points into `a` and into `body`. */
SQ_CHECK int msg_decode(uint16_t type, const uint8_t *body, size_t len, struct arena *a,
                        struct msg *m);

#endif
