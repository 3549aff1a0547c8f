/* sha256.h: SHA-256 of what may be long. OpenSSL's, since it uses the processor's instructions for it
 * where there are any: a megabyte takes a fifth of the time that libsodium's takes. Pure. Not for
 * several threads at once. */
#ifndef SEGQ_COMMON_TASK_SHA256_H
#define SEGQ_COMMON_TASK_SHA256_H

#include <stddef.h>
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

/* HMAC-SHA-256 (RFC 2104) under a key that is used often, and PBKDF2 of it (RFC 8018). Its
 * blocks are OpenSSL's, for the processor's instructions; what stands around them takes no memory and
 * no look for a provider, which cost more than a hash of something short. Pure. */
#define HMAC256_BYTES 32u

struct hmac256 { /* a key, made ready: SHA-256 behind the block of each pad */
    uint32_t in[8], out[8];
};

/* A key of at most 64 bytes; longer ones are hashed first, as the RFC says. */
void hmac256_key(struct hmac256 *k, const void *key, size_t n);
void hmac256_of(uint8_t mac[HMAC256_BYTES], const struct hmac256 *k, const void *p, size_t n);
/* A derived key of 32 bytes, the length of a block: rounds is 1 or more. */
void pbkdf2_256(uint8_t out[HMAC256_BYTES], const void *password, size_t n, const void *salt, size_t n_salt,
                uint32_t rounds);

#endif
