/* request.h: the header fields of a call: the caller's, and ours, with signatures. Pure.
 *
 * Signatures are those of Standard Webhooks, by which a target knows that a call is ours:
 * https://github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md
 *
 * A key is a line of text: "whsec_" and base64 of 24 to 64 bytes (HMAC-SHA256, "v1"), or "whsk_"
 * and base64 of an Ed25519 seed of 32 bytes, or of seed and public key ("v1a"). While keys are
 * changed there are two of a kind, and each call has a signature of every key. */
#ifndef SEGQ_CALLS_REQUEST_H
#define SEGQ_CALLS_REQUEST_H

#include "common/base/buf.h"
#include "common/task/call.h"

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

struct request_facts {
    const char *task;  /* id, PARTITION-NUMBER: a token would be the right to read it */
    const char *queue;
    unsigned attempt;  /* 1: the first; later ones may find that the target knows the task already */
    int64_t due_ms;    /* Unix ms: when it began to wait */
    int64_t now_ms;    /* Unix ms: for the signature */
    const struct sign_keys *keys; /* NULL: it is not signed */
    const char *auth; /* "name: value": instead of what callers send by that name; NULL: none */
    const char *public_url;       /* address of routers, as targets reach them; "": not known */
    const char *right;            /* to say how the attempt ended; RIGHT_TEXT_LEN characters and a 0 */
};

/* Appends lines "name: value", each with a 0 behind it. Without memory out->failed is set. */
void request_fields(const struct call *c, const struct request_facts *f, struct buf *out);

#endif
