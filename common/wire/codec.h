/* codec.h: messages to bytes and back. Each message has one table of its members:
 * polls, joins and leaves in codec_batches.c (written by hand, columns.h), all others in
 * codec_records.c and codec_tasks.c (written by the table, fields.h; read by it if they are about
 * single tasks, else by protobuf-c). */
#ifndef SEGQ_CODEC_H
#define SEGQ_CODEC_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/wire/msg.h"

/* Appends the body (no frame header). 0, SQ_ENOMEM, SQ_ETOOBIG, SQ_EINVAL: msg_decode() would refuse
 * it (body unchanged then). */
SQ_CHECK int msg_encode(const struct msg *m, struct buf *out);
/* 0; SQ_EUNKNOWN: a type this build does not know; SQ_EPROTO: damaged, or a column has
 * the wrong length, or a count is above its limit, or an enum out of range; SQ_ENOMEM.
 * *m points into `a` and into `body`. */
SQ_CHECK int msg_decode(uint16_t type, const uint8_t *body, size_t len, struct arena *a,
                        struct msg *m);

#endif
