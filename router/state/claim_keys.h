/* claim_keys.h: the keys of claims, from the configuration and its files; and the lane of
 * one join. Shell (it reads files). */
#ifndef SEGQ_ROUTER_CLAIM_KEYS_H
#define SEGQ_ROUTER_CLAIM_KEYS_H

#include "router/api/json_body.h"
#include "router/state/cfg.h"
#include "router/flow/routes.h"

struct claim_ring { /* zeroed = no keys */
    struct claim_key *key; /* owned */
    size_t n;
    bool names; /* subjects count in claims only (subject_needs_claim) */
};

/* Replaces what is there; on error it stays as it was. */
SQ_CHECK int claim_ring_load(struct claim_ring *k, const struct router_cfg *cfg,
                             struct err *e);
void claim_ring_fini(struct claim_ring *k);

/* The lane of q that the join goes into. What the claim binds is written into b. 0; SQ_EAUTH
 * and *why; SQ_ENOMEM. */
SQ_CHECK int claim_lane(const struct claim_ring *k, int64_t max_ttl_s, int64_t now_s,
                        const struct route_queue *q, struct join_body *b, unsigned *lane,
                        const char **why);

#endif
