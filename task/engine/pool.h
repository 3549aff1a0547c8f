/* pool.h: a pattern of queues' names with its rules, as limiters and lines read them. Pure. */
#ifndef SEGQ_TASK_POOL_H
#define SEGQ_TASK_POOL_H

#include "common/task/rules.h"
#include "task/keys/tree.h"
#include "task/parts/backoff.h"

struct pool { /* a pattern and its rules */
    char *match; /* owned; a name, or its beginning and a star */
    struct task_rules rules;
    struct key_rule level[TASK_KEY_LEVELS]; /* made of the rules; limiters point here */
    msec_t head_start[TASK_PRIORITIES];
    struct backoff backoff;
};

struct backoff pool_backoff(const struct task_rules *r);
void pool_set_rules(struct pool *p, const struct task_rules *r);

#endif
