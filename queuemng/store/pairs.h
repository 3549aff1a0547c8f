/* pairs.h: keys and values, as text, by key. Pure. A manager has some thousand small
 * ones. Owns copies of both. */
#ifndef SEGQ_PAIRS_H
#define SEGQ_PAIRS_H

#include "common/base/map.h"

struct pair {
    char *key,
        *val; /* owned; val NULL: deleted (the slot stays, so that probing works) */
};
struct pairs {
    struct map by_key; /* hash of the key (probed by +1) -> index in v */
    struct pair *v;
    size_t n, cap;
    size_t live;         /* that have a value */
    uint64_t text_bytes; /* of their keys and values */
};

void pairs_init(struct pairs *p);
void pairs_fini(struct pairs *p);
SQ_CHECK int pairs_set(struct pairs *p, const char *key, const char *val); /* SQ_ENOMEM */
void pairs_drop(struct pairs *p, const char *key);
/* Every pair, in no order; stops at the first result < 0 and returns it. */
typedef int (*pair_fn)(void *ctx, const char *key, const char *val);
SQ_CHECK int pairs_each(const struct pairs *p, pair_fn fn, void *ctx);

#endif
