/* join_key.h: joins that are known by a key in place of a name, so that one that comes again finds
 * its place. Shell (the router's keys). */
#ifndef SEGQ_ROUTER_CALLS_JOIN_KEY_H
#define SEGQ_ROUTER_CALLS_JOIN_KEY_H

#include "router/api/request.h"
#include "router/state/router.h"

/* An Idempotency-Key that may be one: long enough that nobody guesses it. */
#define JOIN_KEY_MIN 16
#define JOIN_KEY_MAX 128

bool join_key_ok(struct slice key);
/* The place of a join that has no subject is known by its key: written into b as its subject.
 * key: join_key_ok(). */
void join_by_key(struct router *r, const struct route_queue *q, struct join_body *b,
                 struct slice key);
/* The hash of the name that a join with that key has, by a secret that may be another than ours. */
uint64_t join_key_hash(const struct token_key *k, queue_id q, struct slice key);

#endif
