/* key_def.h: what an operator says about keys of tasks: about those of a pool that a pattern
 * matches, and about one key of one queue, which is then *pinned*. Pure. */
#ifndef SEGQ_KEY_DEF_H
#define SEGQ_KEY_DEF_H

#include "common/config/cfg.h"
#include "common/task/key_limit.h"

struct pool_limit { /* limits of a queue, a key, a key below it */
    double rate_per_s;      /* 0: any */
    int64_t burst;
    int64_t max_concurrent; /* 0: any */
};

struct pool_key { /* limits of keys that the pattern matches, in place of `key` or `subkey` */
    char *match;
    struct pool_limit limit;
    int64_t weight;
};

struct key_pin { /* in place of what the queue's pool says of this key */
    char *key, *queue;
    bool inherit; /* but for `paused`: limits and weight are those of the pool */
    struct pool_limit limit;
    int64_t weight;
    bool paused;
};

extern const struct cfg_key limit_keys[], pool_key_keys[], key_pin_keys[];

/* After cfg_bind: what a table cannot say. 0 or SQ_EINVAL with a sentence. */
SQ_CHECK int key_pin_check(const struct key_pin *p, struct err *e);
/* By queue, then key: the order of key_limit_compare(). */
int key_pin_compare(const struct key_pin *a, const struct key_pin *b);

/* For task nodes. */
uint64_t per_1000_s(double rate_per_s);
struct key_limit pool_key_limit(const struct pool_key *k); /* text of it is k's */

#endif
