/* lane_claim.h: the right to join another lane than the default one: a JWT of the operator's
 * own back end. Pure (libsodium, jansson).
 *
 *   header   alg (HS256 or EdDSA), kid (may be absent if there is one key only)
 *   payload  aud: the queue (or a list that has it); lane; exp: at most max_ttl_s away;
 *            sub: binds the subject; replaces: the token of a ticket that the join replaces;
 *            nbf, iat: not in the future; jti: looked at for form
 * A key has one algorithm, which its configuration names: a header never chooses how it is
 * checked. Nothing is remembered: a claim may be used until it expires. `sub` keeps it to
 * one place. */
#ifndef SEGQ_ROUTER_CLAIM_H
#define SEGQ_ROUTER_CLAIM_H

#include "common/base/base.h"
#include "common/base/err.h"
#include "common/ticket/token.h"

#define CLAIM_MAX_LEN    2048
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

struct claim {
    char lane[NAME_MAX_LEN + 1];
    uint8_t sub_len; /* 0: it does not bind the subject */
    char sub[SUBJECT_MAX_LEN];
    bool replaces;
    char old[TOKEN_TEXT_LEN]; /* replaces: as it stands there */
};

/* 0; SQ_EAUTH and *why: one sentence of ours, nothing of the claim's in it; SQ_ENOMEM. */
SQ_CHECK int claim_check(struct claim *c, const char *jwt, size_t n,
                         const struct claim_key *keys, size_t n_keys, const char *queue,
                         int64_t max_ttl_s, int64_t now_s, const char **why);

/* An Ed25519 public key as text: its 32 bytes in base64 (also base64url: the `x` of a JWK),
 * or the line between BEGIN and END of a PEM file. SQ_EINVAL: it is none. */
SQ_CHECK int claim_public_key(struct claim_key *k, const char *text);

#endif
