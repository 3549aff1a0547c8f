/* p256.h: keys of the curve P-256 and signatures ES256 (RFC 7518, 3.4: both numbers, one behind the
 * other), by OpenSSL. None leaves an error in OpenSSL's queue, where TLS would look at it. Pure. */
#ifndef SEGQ_ROUTER_P256_H
#define SEGQ_ROUTER_P256_H

#include "common/base/base.h"

typedef struct evp_pkey_st EVP_PKEY; /* OpenSSL's */

#define P256_COORD     32u
#define P256_POINT     (1 + 2 * P256_COORD) /* bytes of a public key, uncompressed: 4, x, y */
#define P256_SIGNATURE (2 * P256_COORD)

/* The public key of a point; owned by the caller. NULL: it is not on the curve, or no memory. */
EVP_PKEY *p256_public(const uint8_t point[P256_POINT]);
/* The pair of a secret, and its point; owned by the caller. NULL: no such number (one of 2^32), or no memory. */
EVP_PKEY *p256_pair(const uint8_t secret[P256_COORD], uint8_t point[P256_POINT]);
SQ_CHECK bool p256_sign(EVP_PKEY *pair, const void *p, size_t n, uint8_t out[P256_SIGNATURE]);
bool p256_is_signed(const uint8_t point[P256_POINT], const void *p, size_t n, const uint8_t signature[P256_SIGNATURE]);

#endif
