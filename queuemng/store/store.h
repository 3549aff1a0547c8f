/* store.h: where queuemng keeps what it must not forget, as keys and values: files of its own
 * machine (store_file.h; one manager), or Redis (redis_store.h; several). And such pairs in memory,
 * which both have (pure). Shell.
 *
 * A put is noted; store_sync() hands over what was noted and answers with a number; it is
 * kept when store_done() has reached that number: with files at once, with Redis when Redis
 * has answered. Nothing that depends on a put is sent before that. */
#ifndef SEGQ_STORE_H
#define SEGQ_STORE_H

#include "common/base/err.h"
#include "common/base/map.h"

/* Keys and values, as text, by key, in memory. A manager has some thousand small
 * ones. Owns copies of both. */
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

struct store_counts {
    uint64_t keys, bytes;
    uint64_t syncs, compactions, failures; /* ever */
};

struct store;
struct store_ops {
    int (*put)(struct store *s, const char *key, const char *val);
    int (*del)(struct store *s, const char *key);
    int (*sync)(struct store *s, uint64_t *serial, struct err *e);
    uint64_t (*done)(const struct store *s);
    int (*each)(const struct store *s, kv_fn fn, void *ctx);
    void (*count)(const struct store *s, struct store_counts *c);
    void (*close)(struct store *s);
};
struct store { /* first member of its implementations */
    const struct store_ops *ops;
};

/* SQ_ENOMEM: nothing is changed. */
static inline SQ_CHECK int store_put(struct store *s, const char *key, const char *val)
{
    return s->ops->put(s, key, val);
}
static inline SQ_CHECK int store_del(struct store *s, const char *key)
{
    return s->ops->del(s, key);
}
/* Cheap if nothing was put. < 0: nothing that depends on it may be sent; try again. */
static inline SQ_CHECK int store_sync(struct store *s, uint64_t *serial, struct err *e)
{
    return s->ops->sync(s, serial, e);
}
static inline uint64_t store_done(const struct store *s)
{
    return s->ops->done(s);
}
/* Every pair, in no order; stops at the first result < 0 and returns it. */
static inline SQ_CHECK int store_each(const struct store *s, kv_fn fn, void *ctx)
{
    return s->ops->each(s, fn, ctx);
}
static inline void store_count(const struct store *s, struct store_counts *c)
{
    s->ops->count(s, c);
}
static inline void store_close(struct store *s) /* NULL is fine */
{
    if (s != NULL)
        s->ops->close(s);
}

#endif
