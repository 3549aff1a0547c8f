/* signed_claim.h: a signed claim: a JWT of the operator's own back end. Pure (libsodium, jansson).
 *
 *   header   alg (HS256 or EdDSA), kid (may be absent if there is one key only)
 *   payload  exp: at most max_ttl_s away; nbf, iat: not in the future; the rest is for those who
 *            use it: lane_claim_check() below, router/task_api/rights.h
 * A key has one algorithm, which its configuration names: a header never chooses how it is
 * checked. Nothing is remembered: a claim may be used until it expires. */
#ifndef SEGQ_ROUTER_SIGNED_CLAIM_H
#define SEGQ_ROUTER_SIGNED_CLAIM_H

#include <jansson.h>

#include "common/base/base.h"
#include "common/base/err.h"
#include "common/ticket/token.h"

#define CLAIM_SECRET_MIN 32
#define CLAIM_SECRET_MAX 256
#define CLAIM_LEEWAY_S   30 /* clocks of machines differ: nbf, iat, and how far exp may be */

enum claim_alg { CLAIM_HS256, CLAIM_EDDSA };

struct claim_key {
    char kid[NAME_MAX_LEN + 1];
    enum claim_alg alg;
    uint16_t len;                  /* EdDSA: 32 */
    uint8_t key[CLAIM_SECRET_MAX]; /* HS256: the secret; EdDSA: the public key */
};

/* 0: *said is the payload, owned by the caller; SQ_EAUTH and *why: one sentence of ours, nothing
 * of the claim's in it; SQ_ENOMEM. */
SQ_CHECK int claim_open(json_t **said, const char *jwt, size_t n, const struct claim_key *keys,
                        size_t n_keys, int64_t max_ttl_s, int64_t now_s, const char **why);
/* SQ_EAUTH, and *why = text. */
SQ_CHECK int claim_refuse(const char **why, const char *text);

/* An Ed25519 public key as text: its 32 bytes in base64 (also base64url: the `x` of a JWK),
 * or the line between BEGIN and END of a PEM file. SQ_EINVAL: it is none. */
SQ_CHECK int claim_public_key(struct claim_key *k, const char *text);

/* The right to join another lane than the default one: a claim with
 *
 *   aud: the queue (or a list that has it); lane; sub: binds the subject;
 *   replaces: the token of a ticket that the join replaces; jti: looked at for form
 *
 * It may be used again until it expires; `sub` keeps it to one place. */
struct lane_claim {
    char lane[NAME_MAX_LEN + 1];
    uint8_t sub_len; /* 0: it does not bind the subject */
    char sub[SUBJECT_MAX_LEN];
    bool replaces;
    char old[TOKEN_TEXT_LEN]; /* replaces: as it stands there */
};

/* 0; SQ_EAUTH and *why, SQ_ENOMEM: as claim_open(). */
SQ_CHECK int lane_claim_check(struct lane_claim *c, const char *jwt, size_t n,
                              const struct claim_key *keys, size_t n_keys, const char *queue,
                              int64_t max_ttl_s, int64_t now_s, const char **why);

#endif
