/* codec.h: messages to bytes and back, and the frames that they travel in. Pure. Each message has one table of its members:
 * polls, joins and leaves in codec.c (written by hand, columns.h), all others in
 * codec_records.c and codec_tasks.c (written by the table, fields.h; read by it if they are about
 * single tasks, else by protobuf-c). */
#ifndef SEGQ_CODEC_H
#define SEGQ_CODEC_H

#include "common/base/base.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/memory.h"
#include "common/wire/msg.h"

/* The columns of each message of MSG_BATCHES (columns.h). */
struct columns;
#define X(name, number, member, ways) extern const struct columns codec_##member##_columns;
MSG_BATCHES(X)
#undef X

/* Appends the body (no frame header). 0, SQ_ENOMEM, SQ_ETOOBIG, SQ_EINVAL: msg_decode() would refuse
 * it (body unchanged then). */
SQ_CHECK int msg_encode(const struct msg *m, struct buf *out);
/* 0; SQ_EUNKNOWN: a type this build does not know; SQ_EPROTO: damaged, or a column has
 * the wrong length, or a count is above its limit, or an enum out of range; SQ_ENOMEM.
 * *m points into `a` and into `body`. */
SQ_CHECK int msg_decode(uint16_t type, const uint8_t *body, size_t len, struct arena *a,
                        struct msg *m);

/* Frames: cut out of a byte stream, and built, without a look at bodies.
 *
 *   u32 length of the body | u8 version | u8 flags | u16 type | u64 request id | body
 *   all little endian; 16 bytes before the body. */

#define FRAME_HEADER_BYTES 16
#define FRAME_VERSION      1
#define FRAME_MAX_BODY     (1u << 20)
#define FRAME_MAX_BODY_HELLO 1024u /* before the peer has proved who it is */

struct frame {
    uint16_t type;
    uint8_t version, flags;
    uint64_t rid; /* request id: an answer carries that of its question; 0 = none */
    const uint8_t *body;
    size_t len;
};

/* > 0: bytes this frame takes; 0: more bytes needed; SQ_ETOOBIG: length above max_body
 * (checked before anything is allocated for it); SQ_EPROTO: unknown frame version. */
SQ_CHECK int64_t frame_parse(const uint8_t *p, size_t n, size_t max_body, struct frame *f);
/* How many bytes the frame that starts at p takes as a whole, as far as that is known.
 * Only after frame_parse() said 0: the length is within bounds then. */
size_t frame_need(const uint8_t *p, size_t n);
void frame_header(uint8_t out[FRAME_HEADER_BYTES], uint16_t type, uint8_t flags,
                  uint64_t rid, uint32_t body_len);

#endif
