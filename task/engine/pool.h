/* pool.h: a pattern of queues' names with its rules, as limiters and lines read them. Pure. */
#ifndef SEGQ_TASK_POOL_H
#define SEGQ_TASK_POOL_H

#include "common/task/key_limit.h"
#include "common/task/rules.h"
#include "task/containers/backoff.h"
#include "task/keys/tree.h"
#include "task/store/record.h"

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
/* Reads the bytes of a record (key_limit.h). 0, SQ_EPROTO, SQ_ENOMEM: *k is empty. */
SQ_CHECK int key_rules_read(struct key_rules *k, const char *p, uint32_t n);
void key_rules_free(struct key_rules *k);
/* The same patterns: then k takes over their rules, to which limiters point. */
bool key_rules_take_patterns(struct key_rules *k, struct key_rules *was);
/* Finds the rule of path[level]: a queue of the pool, a key of it, a key below that. */
const struct key_rule *pool_key_rule(const struct pool *p, const struct trec_text *const *path,
                                     unsigned level);
void engine_pool_free(struct pool *p);

#endif
