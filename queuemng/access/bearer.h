/* bearer.h: who calls the admin API: a name, a role, and the queues and pools that it is for; by a
 * token, or as a proxy says. Pure. */
#ifndef SEGQ_QUEUEMNG_ACCESS_BEARER_H
#define SEGQ_QUEUEMNG_ACCESS_BEARER_H

#include <stdio.h>
#include <string.h>

#include "queuemng/access/tokens.h"

struct bearer {
    const char *name;  /* ref: who it is, for the log of changes: the token's, or the person's */
    const char *row;   /* ref: name of the row that the role is from */
    const char *print; /* ref: the digits of its hash */
    bool by_proxy;     /* a person whom a proxy has signed in */
    enum role role;
    const struct cfg_list *queues, *pools; /* refs: patterns */
};

/* person: whom a proxy has signed in; NULL: the bearer of the row's token. */
static inline struct bearer bearer_of(const struct access_token *t, const char *person)
{
    return (struct bearer){ .name = person != NULL ? person : t->name,
                            .row = t->name,
                            .print = person != NULL ? "" : t->hash + strlen(TOKEN_HASH),
                            .by_proxy = person != NULL,
                            .role = access_role(t),
                            .queues = &t->queues,
                            .pools = &t->pools };
}

#define BEARER_WORDS_CAP (PERSON_MAX + 100)

/* Writes the bearer as words of a sentence; returns `out`. */
static inline const char *bearer_words(const struct bearer *b, char out[BEARER_WORDS_CAP])
{
    if (b->by_proxy)
        snprintf(out, BEARER_WORDS_CAP, "%s (row %s)", b->name, b->row);
    else
        snprintf(out, BEARER_WORDS_CAP, "the token %s", b->name);
    return out;
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
