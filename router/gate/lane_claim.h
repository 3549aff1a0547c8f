/* lane_claim.h: the right to join another lane than the default one: a claim (claim.h) with
 *
 *   aud: the queue (or a list that has it); lane; sub: binds the subject;
 *   replaces: the token of a ticket that the join replaces; jti: looked at for form
 *
 * Pure. It may be used again until it expires; `sub` keeps it to one place. */
#ifndef SEGQ_ROUTER_LANE_CLAIM_H
#define SEGQ_ROUTER_LANE_CLAIM_H

#include "common/ticket/token.h"
#include "router/gate/claim.h"

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
