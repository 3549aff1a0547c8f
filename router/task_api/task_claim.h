/* task_claim.h: the right to submit one task without a server's token: a claim (signed_claim.h) with
 *
 *   queues: names and patterns, as a server's token has them; jti: the task's Idempotency-Key;
 *   key, priority: of the task; without them it has no key, and priority 0
 *
 * Pure. One claim is one task in each of its queues: used again there it finds the same one, and no
 * router has to remember it. */
#ifndef SEGQ_ROUTER_TASK_CLAIM_H
#define SEGQ_ROUTER_TASK_CLAIM_H

#include "router/gate/signed_claim.h"
#include "router/task_api/body.h"

struct task_claim {
    char jti[TASK_IDEM_MAX + 1];
    char key[2 * TASK_NAME_MAX + 2]; /* "": none */
    uint8_t priority;
};

/* 0; SQ_EAUTH and *why, SQ_ENOMEM: as claim_open(). */
SQ_CHECK int task_claim_check(struct task_claim *c, struct slice jwt, const struct claim_key *keys,
                              size_t n_keys, struct slice queue, int64_t max_ttl_s, int64_t now_s,
                              const char **why);
/* The body of its submission, which gets what the claim says (c must last as long). NULL, or what
 * the body says beside it: one sentence. */
const char *task_claim_bind(const struct task_claim *c, struct task_body *b);

#endif
