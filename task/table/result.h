/* result.h: a worker's result as it is kept: its length and SHA-256, and as many of its first bytes
 * as the pool keeps. Pure. */
#ifndef SEGQ_TASK_RESULT_H
#define SEGQ_TASK_RESULT_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/task/bounds.h"

#define RESULT_HEAD (1 + 8 + RESULT_SHA256) /* bytes before the result's own */

struct result { /* borrowed */
    const uint8_t *p; /* the first n bytes */
    uint32_t n;
    uint64_t length; /* that it had; > n: it was cut */
    const uint8_t *sha256; /* of all of it */
};

/* Appends what is kept of n bytes; most: of them. */
void result_pack(const uint8_t *p, uint32_t n, uint64_t most, struct buf *out);
/* 0; SQ_EPROTO: it was not packed. */
SQ_CHECK int result_unpack(const uint8_t *p, size_t n, struct result *r);

#endif
