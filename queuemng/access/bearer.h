/* bearer.h: who calls the admin API: a name, a role, and the queues and pools that it is for. Pure. */
#ifndef SEGQ_QUEUEMNG_ACCESS_BEARER_H
#define SEGQ_QUEUEMNG_ACCESS_BEARER_H

#include <string.h>

#include "queuemng/access/tokens.h"

struct bearer {
    const char *name, *print; /* refs; the digits of its hash */
    enum role role;
    const struct cfg_list *queues, *pools; /* refs: patterns */
};

static inline struct bearer bearer_of(const struct access_token *t)
{
    return (struct bearer){ t->name, t->hash + strlen(TOKEN_HASH), access_role(t), &t->queues, &t->pools };
}

static inline bool bearer_has_queue(const struct bearer *b, const char *queue)
{
    return patterns_match(b->queues, queue);
}

/* Also of a task queue, or an endpoint, which is where the calls of pools go. */
static inline bool bearer_has_pool(const struct bearer *b, const char *pool)
{
    return patterns_match(b->pools, pool);
}

/* Nodes, budgets and sums of all queues are nobody's part. */
static inline bool bearer_has_all(const struct bearer *b)
{
    return patterns_match_all(b->queues) && patterns_match_all(b->pools);
}

#endif
