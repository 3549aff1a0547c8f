/* kv.h: keys and values, as text, by key, in memory. Pure. A manager has some thousand small
 * ones. Owns copies of both. */
#ifndef SEGQ_KV_H
#define SEGQ_KV_H

#include "common/base/map.h"

struct kv_pair {
    char *key, *val; /* owned; val NULL: deleted (the slot stays for now, for the probing) */
};
struct kv {
    struct map by_key; /* hash of the key (probed by +1) -> index in v */
    struct kv_pair *v;
    size_t n, cap;
    size_t live;         /* keys that have a value */
    uint64_t text_bytes; /* bytes of their keys and values */
};

void kv_init(struct kv *p);
void kv_fini(struct kv *p);
SQ_CHECK int kv_set(struct kv *p, const char *key, const char *val); /* SQ_ENOMEM */
void kv_del(struct kv *p, const char *key);
/* Every pair, in no order; stops at the first result < 0 and returns it. */
typedef int (*kv_fn)(void *ctx, const char *key, const char *val);
SQ_CHECK int kv_each(const struct kv *p, kv_fn fn, void *ctx);

#endif
