/* pass.h: the signed admission, a JWT (EdDSA). Pure (crypto only).
 * A pure function of the recorded release and the key: made again, it is the same bytes. */
#ifndef SEGQ_PASS_H
#define SEGQ_PASS_H

#include "common/base/base.h"
#include "common/ticket/bound.h"

#define PASS_OTHERS_MAX 3

/* Public keys beside the one that signs: the one before it, whose passes are still out
 * there, or the next one, which verifiers should know before it signs. */
struct pass_others {
    uint32_t n;
    uint8_t key[PASS_OTHERS_MAX][32];
};

struct pass_key {
    uint8_t secret[64]; /* Ed25519 */
    uint8_t public[32];
    struct pass_others others;
};

struct pass_claims {
    const char *iss, *aud, *lane;
    const char *sub; /* NULL: the ticket's id */
    size_t sub_len;
    seg_id seg;      /* with number: the ticket's id, "jti" = "<seg>-<number>" */
    uint32_t number;
    int64_t iat_s, exp_s; /* nbf = iat */
    const struct bound *bound; /* NULL: to nothing. Else "htm", "htu", "use": "once", "cnf" */
};

/* The key's id ("kid"): 11 characters and a 0. */
void pass_kid(const uint8_t public[32], char out[12]);
/* Writes the JWT (no 0). Length, or SQ_ETOOBIG. Strings are JSON-escaped. */
SQ_CHECK int pass_make(const struct pass_claims *c, const struct pass_key *k, char *out,
                       size_t cap);

struct pass_view { /* after pass_check: slices of `store` */
    char store[1100]; /* decoded payload */
    const char *iss, *aud, *sub, *jti, *lane; /* 0-terminated, unescaped, in store */
    int64_t iat_s, nbf_s, exp_s;
    bool is_bound;
    struct bound bound; /* if it is */
};
/* 0; SQ_EINVAL malformed or another alg; SQ_EAUTH no key of ours signed it. Does not
 * look at the clock or the audience. */
SQ_CHECK int pass_check(struct pass_view *v, const char *jwt, size_t n,
                        const uint8_t (*keys)[32], size_t n_keys);

#endif
