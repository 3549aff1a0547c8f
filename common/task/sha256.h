/* sha256.h: SHA-256 of what may be long. OpenSSL's, since it uses the processor's instructions for it
 * where there are any: a megabyte takes a fifth of the time that libsodium's takes. Pure. Not for
 * several threads at once. */
#ifndef SEGQ_COMMON_TASK_SHA256_H
#define SEGQ_COMMON_TASK_SHA256_H

#include <stdint.h>

#include "common/base/err.h"

#define SHA256_BYTES 32u

struct sha256 {
    void *ctx; /* owned; NULL: none is under way */
};

/* False: no memory. What was under way is dropped. */
SQ_CHECK bool sha256_begin(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *p, size_t n);
void sha256_end(struct sha256 *h, uint8_t out[SHA256_BYTES]);
/* Also of one that has ended, or never began. */
void sha256_drop(struct sha256 *h);

/* Hashes bytes that are all here. */
void sha256_of(uint8_t out[SHA256_BYTES], const void *p, size_t n);

#endif
