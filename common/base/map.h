/* map.h: hash map from a 64-bit key to a pointer or number. Pure.
 * Open addressing, linear probing, power of two. Keys given by ourselves (segment ids)
 * may use seed 0; keys made of outside data take a random seed (hash flooding). */
#ifndef SEGQ_MAP_H
#define SEGQ_MAP_H

#include "common/base/base.h"

struct map_slot {
    uint64_t key;
    uint64_t val;
};

struct map {
    struct map_slot *slot; /* owned; val == MAP_NONE marks a free one */
    size_t n, cap;         /* cap is 0 or a power of two */
    uint64_t seed;
};

#define MAP_NONE UINT64_MAX /* not a value one may store */

void map_init(struct map *m, uint64_t seed);
void map_fini(struct map *m);
void map_fini_all(struct map *m); /* frees its pointers, too */
uint64_t map_get(const struct map *m, uint64_t key); /* MAP_NONE: not there */
SQ_CHECK int map_set(struct map *m, uint64_t key, uint64_t val); /* 0 or SQ_ENOMEM */
bool map_del(struct map *m, uint64_t key);                       /* was it there? */

static inline void *map_get_ptr(const struct map *m, uint64_t key)
{
    uint64_t v = map_get(m, key);
    return v == MAP_NONE ? NULL : (void *)(uintptr_t)v;
}

static inline SQ_CHECK int map_set_ptr(struct map *m, uint64_t key, void *p)
{
    return map_set(m, key, (uint64_t)(uintptr_t)p);
}

/* for (size_t i = 0; (i = map_next(m, i, &key, &val)) != 0;) ... in no order; the map
 * must not change meanwhile. */
size_t map_next(const struct map *m, size_t i, uint64_t *key, uint64_t *val);

#endif
