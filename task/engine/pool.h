/* pool.h: a pattern of queues' names with its rules, as limiters and lines read them; and the share
 * that a partition of the pool has of a rate that the manager makes of metrics. Pure. */
#ifndef SEGQ_TASK_POOL_H
#define SEGQ_TASK_POOL_H

#include "common/task/rules.h"
#include "task/containers/rate.h"
#include "task/keys/tree.h"
#include "task/store/record.h"

/* How long a failed task waits before it is tried again:
 * min * 2^(failures - 1), at most `doublings` doublings and at most max; then up to a share
 * `jitter` longer, never shorter, so that a retry is not before what was promised. */
struct backoff {
    uint32_t min_ms, max_ms; /* min <= max <= BACKOFF_MAX */
    uint8_t doublings;       /* at most 30 */
    uint8_t jitter;          /* percent, at most 100 */
};

/* failures: 1 after the first. salt: anything that differs from task to task. */
msec_t backoff_ms(const struct backoff *b, unsigned failures, uint64_t salt);

struct key_rules { /* limits of single keys */
    struct buf bytes;      /* owned; as a record has them; empty: there is none */
    struct key_limit *v;   /* owned; texts are in `bytes` */
    struct key_rule *pin, *pattern; /* owned; of each, as limiters read it */
    uint32_t n, n_pinned;
};

struct pool { /* a pattern and its rules */
    char *match; /* owned; a name, or its beginning and a star */
    struct task_rules rules;
    struct key_rule level[TASK_KEY_LEVELS]; /* made of the rules; limiters point here, */
    struct key_rules keys;                  /* or there */
    msec_t head_start[TASK_PRIORITIES];
    struct backoff backoff;
};

struct backoff pool_backoff(const struct task_rules *r);
void pool_set_rules(struct pool *p, const struct task_rules *r);
/* Reads the bytes of a record (key_limits_encode()). 0, SQ_EPROTO, SQ_ENOMEM: *k is empty. */
SQ_CHECK int key_rules_read(struct key_rules *k, const char *p, uint32_t n);
void key_rules_free(struct key_rules *k);
/* The same patterns: then k takes over their rules, to which limiters point. */
bool key_rules_take_patterns(struct key_rules *k, struct key_rules *was);
/* Finds the rule of path[level]: a queue of the pool, a key of it, a key below that. */
const struct key_rule *pool_key_rule(const struct pool *p, const struct trec_text *const *path,
                                     unsigned level);
void engine_pool_free(struct pool *p);

/* ---- what the partition as a whole may start --------------------------------------- */

/* A rate that was said holds for ALLOWANCE_TOLD_MS; without another one the partition has what its
 * pool's rules say for that case (`until_told`). A pool without limits by metrics has no allowance.
 * It is in no record: after a replay the bucket is empty, and nothing has been said. */
#define ALLOWANCE_TOLD_MS 15000

struct allowance {
    bool is_on;
    bool none;         /* nothing starts */
    uint64_t fallback; /* per 1000 s */
    struct rate rate;
    int64_t tat;       /* rate.h */
    msec_t told_until; /* 0: nothing holds that was said */
};

/* Rules are new, or have changed. */
void allowance_rules(struct allowance *b, const struct task_rules *r, msec_t now);
/* per_1000_s 0: nothing starts. */
void allowance_tell(struct allowance *b, uint64_t per_1000_s, msec_t now);
void allowance_advance(struct allowance *b, msec_t now);
/* When something happens by itself; MSEC_NEVER. */
msec_t allowance_next(const struct allowance *b, msec_t now);
void allowance_empty(struct allowance *b, msec_t now);

static inline bool allowance_lets(const struct allowance *b, msec_t now)
{
    return !b->is_on || (!b->none && rate_lets(&b->rate, b->tat, now));
}

static inline void allowance_pay(struct allowance *b, msec_t now)
{
    if (b->is_on)
        b->tat = rate_pass(&b->rate, b->tat, now);
}

#endif
