/* sign.h: Standard Webhooks signatures: what a target checks to know that a call is ours. Pure.
 * https://github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md
 *
 * A key is a line of text: "whsec_" and base64 of 24 to 64 bytes (HMAC-SHA256, "v1"), or "whsk_" and
 * base64 of an Ed25519 seed of 32 bytes, or of seed and public key ("v1a"). While keys are changed
 * there are two of a kind, and each call has a signature of every key. */
#ifndef SEGQ_CALLS_SIGN_H
#define SEGQ_CALLS_SIGN_H

#include "common/base/buf.h"

#define SIGN_KEYS_MAX 4
#define SIGN_SECRET_MAX 64

struct sign_key {
    bool ed25519;
    uint8_t bytes[SIGN_SECRET_MAX]; /* a secret; of Ed25519: seed, public key */
    uint8_t n;
};

struct sign_keys {
    unsigned n;
    struct sign_key key[SIGN_KEYS_MAX];
};

/* The text of a file: a key a line; blank lines and those that begin with # count nothing. NULL, or
 * what is wrong; *line: where. */
const char *sign_keys_read(struct sign_keys *k, const char *text, size_t n, unsigned *line);
/* Appends the value of webhook-signature: of "ID.SECONDS.BODY". */
void sign_append(const struct sign_keys *k, const char *id, int64_t unix_s, const uint8_t *body,
                 size_t n, struct buf *out);

#endif
