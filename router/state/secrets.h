/* secrets.h: what is read of files at the start and at HUP: keys of claims, and the secret that
 * only gates know; and what a join has by these and the cluster's: the lane that its claim opens, the place
 * that is known by its key in place of a name, so that one that comes again finds it. Shell (it reads files). */
#ifndef SEGQ_ROUTER_CLAIM_KEYS_H
#define SEGQ_ROUTER_CLAIM_KEYS_H

#include "router/api/request.h"
#include "router/flow/routes.h"
#include "router/state/cfg.h"

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

/* ---- the gates' secret --------------------------------------------------------------- */

#define GATE_SECRET_MAX 200

struct gate_secret { /* token of the file; n 0: none, and nobody knows it */
    size_t n;
    char text[GATE_SECRET_MAX + 1];
};

/* path "": none. */
SQ_CHECK int gate_secret_read(struct gate_secret *s, const char *path, struct err *e);
/* Takes the same time wherever they differ. */
bool gate_secret_is(const struct gate_secret *s, struct slice said);

/* ---- a join's key -------------------------------------------------------------------- */

/* An Idempotency-Key that may be one: long enough that nobody guesses it. */
#define JOIN_KEY_MIN 16
#define JOIN_KEY_MAX 128

bool join_key_ok(struct slice key);
/* The place of a join that has no subject is known by its key: written into b as its subject.
 * key: join_key_ok(). */
void join_by_key(const struct token_key *k, const struct route_queue *q, struct join_body *b, struct slice key);
/* The hash of the name that a join with that key has, by a secret that may be another than ours. */
uint64_t join_key_hash(const struct token_key *k, queue_id q, struct slice key);

#endif
