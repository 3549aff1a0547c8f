/* reply.h: where an HTTP answer ends, found as its bytes come, however they are cut. Pure.
 * Nothing of the body is kept: a load generator needs the status and the length. Bodies
 * with a length or in chunks; one that ends with its connection is SQ_EPROTO here, since
 * its end could not be told from a break. */
#ifndef SEGQ_LOAD_REPLY_H
#define SEGQ_LOAD_REPLY_H

#include "common/base/base.h"

#define REPLY_LINE     48    /* of a line cut in two that much is kept */
#define REPLY_HEAD_MAX 16384u

enum reply_state {
    REPLY_STATUS,     /* waits for the status line; also after a 1xx answer */
    REPLY_HEADER,
    REPLY_BODY,       /* `left` bytes to come */
    REPLY_CHUNK_SIZE,
    REPLY_CHUNK,      /* `left` bytes to come */
    REPLY_CHUNK_END,  /* the empty line behind a chunk */
    REPLY_TRAILER,
    REPLY_DONE
};

struct reply {
    uint64_t left;
    uint32_t head;    /* bytes of the lines so far */
    uint16_t status;
    uint8_t state;    /* enum reply_state */
    uint8_t line_len; /* of what is kept of the line that is being read */
    bool has_length;
    bool chunked;
    bool close;       /* the server will close the connection */
    char line[REPLY_LINE];
};

void reply_start(struct reply *r);
/* Bytes taken: all n, or fewer if the answer ends before; SQ_EPROTO. */
SQ_CHECK int64_t reply_feed(struct reply *r, const char *p, size_t n);

static inline bool reply_is_done(const struct reply *r)
{
    return r->state == REPLY_DONE;
}

#endif
