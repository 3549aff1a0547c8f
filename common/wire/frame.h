/* frame.h: cuts a byte stream into frames and builds them; knows nothing of bodies. Pure.
 *
 *   u32 length of the body | u8 version | u8 flags | u16 type | u64 request id | body
 *   all little endian; 16 bytes before the body. */
#ifndef SEGQ_FRAME_H
#define SEGQ_FRAME_H

#include "common/base/base.h"
#include "common/base/err.h"

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
