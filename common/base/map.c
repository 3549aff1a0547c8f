/* map.c: open addressing with linear probing. Deleting moves followers back, so there are
 * no tombstones and a map that shrank is as fast as one that never grew. */
#include "common/base/map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

#define MAP_FIRST 16u

/* splitmix64's mixer: good in all bits; the seed makes places unguessable. */
static inline size_t home(const struct map *m, uint64_t key)
{
    uint64_t x = key ^ m->seed;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x ^= m->seed << 1;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (size_t)(x ^ (x >> 31)) & (m->cap - 1);
}

void map_init(struct map *m, uint64_t seed)
{
    memset(m, 0, sizeof(*m));
    m->seed = seed;
}

void map_fini(struct map *m)
{
    free(m->slot);
    map_init(m, m->seed);
}

/* The slot that has the key, or the free one where it would go. Needs cap > n. */
static struct map_slot *find(const struct map *m, uint64_t key)
{
    size_t i = home(m, key);

    while (m->slot[i].val != MAP_NONE && m->slot[i].key != key)
        i = (i + 1) & (m->cap - 1);
    return &m->slot[i];
}

uint64_t map_get(const struct map *m, uint64_t key)
{
    return m->n == 0 ? MAP_NONE : find(m, key)->val;
}

static int resize(struct map *m, size_t cap)
{
    struct map old = *m;

    assert((cap & (cap - 1)) == 0 && cap > m->n); /* home() masks; find() needs a free slot */
    m->slot = reallocarray(NULL, cap, sizeof(*m->slot));
    if (m->slot == NULL) {
        *m = old;
        return SQ_ENOMEM;
    }
    m->cap = cap;
    for (size_t i = 0; i < cap; i++)
        m->slot[i] = (struct map_slot){ 0, MAP_NONE };
    for (size_t i = 0; i < old.cap; i++)
        if (old.slot[i].val != MAP_NONE)
            *find(m, old.slot[i].key) = old.slot[i];
    free(old.slot);
    return 0;
}

int map_set(struct map *m, uint64_t key, uint64_t val)
{
    struct map_slot *s;
    int rc;

    if (val == MAP_NONE)
        return SQ_EINVAL;
    if (m->n != 0 && (s = find(m, key))->val != MAP_NONE) {
        s->val = val; /* replacing needs no room */
        return 0;
    }
    if (m->n + 1 > m->cap - m->cap / 4) { /* at most three quarters full */
        rc = resize(m, m->cap != 0 ? m->cap * 2 : MAP_FIRST);
        if (rc < 0)
            return rc;
    }
    *find(m, key) = (struct map_slot){ key, val };
    m->n++;
    return 0;
}

bool map_del(struct map *m, uint64_t key)
{
    struct map_slot *s = m->n == 0 ? NULL : find(m, key);
    size_t hole, i;

    if (s == NULL || s->val == MAP_NONE)
        return false;
    hole = (size_t)(s - m->slot);
    for (i = (hole + 1) & (m->cap - 1); m->slot[i].val != MAP_NONE;
         i = (i + 1) & (m->cap - 1)) {
        size_t want = home(m, m->slot[i].key);

        /* An entry may fill the hole unless its home lies between the hole and itself. */
        if (((i - want) & (m->cap - 1)) >= ((i - hole) & (m->cap - 1))) {
            m->slot[hole] = m->slot[i];
            hole = i;
        }
    }
    m->slot[hole].val = MAP_NONE;
    m->n--;
    return true;
}

size_t map_next(const struct map *m, size_t i, uint64_t *key, uint64_t *val)
{
    for (; i < m->cap; i++) {
        if (m->slot[i].val == MAP_NONE)
            continue;
        *key = m->slot[i].key;
        *val = m->slot[i].val;
        return i + 1;
    }
    return 0;
}

void map_fini_all(struct map *m)
{
    uint64_t key, val;

    for (size_t i = 0; (i = map_next(m, i, &key, &val)) != 0;)
        free((void *)(uintptr_t)val);
    map_fini(m);
}
