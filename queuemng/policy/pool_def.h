/* pool_def.h: what an operator says about one pool of task queues; from queuemng.yaml (`pools:`)
 * and from the admin API, through the same table. And what is said of keys of tasks: of those of a pool
 * that a pattern matches, and of one key of one queue, which is then *pinned*. Pure. */
#ifndef SEGQ_POOL_DEF_H
#define SEGQ_POOL_DEF_H

#include "common/config/cfg.h"
#include "common/task/rules.h"
#include "queuemng/policy/budget_def.h"

struct pool_limit { /* limits of a queue, a key, a key below it */
    double rate_per_s;      /* 0: any */
    int64_t burst;
    int64_t max_concurrent; /* 0: any */
    struct cfg_list rates;  /* struct unit_rate_def: all must let it pass */
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
struct key_limit pool_key_limit(const struct pool_key *k, struct rate_zones *z); /* text of it is k's */

#define POOL_KEYS_MAX (KEY_LIMITS_MAX - PINS_MAX) /* patterns of keys */

struct pool_retry {
    int64_t min_ms, max_ms, doublings, jitter;
};

struct pool_priority { /* from priority 1 on */
    int64_t head_start_ms;
};

struct pool_def {
    char *match; /* a queue's name, or the beginning of names and a star */
    bool paused;
    int64_t rollout; /* percent of the queues that the pattern matches; 100: all */
    char *endpoint; /* name of an endpoint of the cluster; "": none */
    char *notify;   /* the queue of an endpoint in which ends of tasks are told; "": none */
    struct cfg_list notify_on; /* list of char *: "end", and perhaps "start" */
    bool cancel_on_disconnect; /* with an endpoint: of /v1/call */
    int64_t partitions; /* 0: pool_def_fit() chooses */
    int64_t max_tasks;  /* tasks of a partition */
    int64_t max_body, max_result; /* bytes */
    int64_t max_bytes; /* bytes of payloads of a partition; 0: any */
    int64_t position_cap; /* places further back are not told; 0: all are */
    int order;          /* enum task_order */
    int64_t task_ttl_ms, result_ttl_ms, result_ttl_read_ms, dead_ttl_ms, dedup_ms, lease_ms;
    int64_t max_attempts, max_waiting;
    int64_t max_cost;     /* units of a task */
    int64_t max_waiting_units; /* units of a queue's tasks that wait; 0: any */
    int64_t max_wait_ms;  /* estimated waits beyond it are refused; 0: any may wait */
    char *eta_url;        /* the operator's own service, which estimates waits; "": none */
    int64_t eta_every_ms, eta_timeout_ms;
    struct cfg_list eta_allow; /* char *: networks that it may be in */
    int64_t warn_waiting; /* tasks in line of the pool, more than which are told as trouble; 0: any may be */
    struct pool_retry retry;
    struct pool_limit queue, key, subkey;
    struct cfg_list keys;       /* struct pool_key; the first that matches counts */
    struct cfg_list limits;     /* struct def_limit: of the whole pool, by metrics */
    double fallback_per_s, hysteresis;
    struct cfg_list priorities; /* struct pool_priority; empty: the built-in head starts */
};

extern const struct cfg_key pool_def_keys[];

/* After cfg_bind: what a table cannot say. 0 or SQ_EINVAL with a sentence. */
SQ_CHECK int pool_def_check(const struct pool_def *d, struct err *e);
/* The number of partitions, where the operator left it to us. */
void pool_def_fit(struct pool_def *d);
/* True: starts are told, too. */
bool pool_tells_starts(const struct pool_def *d);
/* notify_on is [end], or [start, end]. */
bool pool_notify_on_ok(const struct pool_def *d);
/* For task nodes; pool_def_check() has passed. */
void pool_def_rules(const struct pool_def *d, struct task_rules *r);
/* And `windows` of them. */
uint64_t pool_windows(const struct pool_def *d, struct rate_zones *z);
/* A partition's share of fallback_per_s, per 1000 s. */
uint64_t pool_fallback(const struct pool_def *d);
/* A pinned key's in this pool, for task nodes; its texts are p's. */
struct key_limit pool_pin_limit(const struct pool_def *d, const struct key_pin *p, struct rate_zones *z);
/* Which one a queue's name is compared with first: names before patterns, long beginnings before
 * short ones. < 0: a's. */
int pool_def_compare(const struct pool_def *a, const struct pool_def *b);

#endif
