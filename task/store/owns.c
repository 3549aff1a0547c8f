/* owns.c: a table of what tasks have, with a count of tasks each. */
#include "task/store/owns.h"

#include <stdlib.h>
#include <string.h>

static struct owned_by_tasks *at(const struct owns *o, uint64_t i)
{
    return pages_at(&o->v, (uint32_t)i);
}

void owns_init(struct owns *o)
{
    memset(o, 0, sizeof(*o));
    pages_init(&o->v, sizeof(struct owned_by_tasks));
    map_init(&o->by_slot, 0);
    map_init(&o->by_hash, 0);
}

void owns_fini(struct owns *o)
{
    for (uint32_t i = 0; i < o->n; i++)
        if (at(o, i)->tasks > 0)
            free((char *)(uintptr_t)at(o, i)->own.labels);
    pages_fini(&o->v);
    map_fini(&o->by_slot);
    map_fini(&o->by_hash);
}

/* A hash without a key: who may submit has a server's token, nobody looks for two with the same one, and two would
 * only be kept apart. */
static uint64_t hash_of(const struct task_own *own)
{
    uint64_t h = 0xcbf29ce484222325u;

#define X(m, least, most) h = (h ^ own->m) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
    TASK_OWN(X)
#undef X
    for (const char *p = own->labels; p != NULL && *p != 0; p++)
        h = (h ^ (uint8_t)*p) * 0x100000001b3u;
    return h * 0x9e3779b97f4a7c15u;
}

/* An entry with these, that no task has yet. MAP_NONE: no memory. */
static uint64_t add(struct owns *o, const struct task_own *own, uint64_t hash)
{
    uint32_t i = o->free != 0 ? o->free - 1 : o->n;
    char *labels = strdup(own->labels != NULL ? own->labels : "");

    if (labels == NULL || pages_reach(&o->v, i) < 0 ||
        (map_get(&o->by_hash, hash) == MAP_NONE && map_set(&o->by_hash, hash, i) < 0)) {
        free(labels);
        return MAP_NONE;
    }
    if (o->free != 0)
        o->free = at(o, i)->next;
    else
        o->n++;
    *at(o, i) = (struct owned_by_tasks){ .own = *own, .hash = hash };
    at(o, i)->own.labels = labels;
    return i;
}

/* A task has it no longer. */
static void let_go(struct owns *o, uint64_t i)
{
    struct owned_by_tasks *e = at(o, i);

    if (e->tasks > 0 && --e->tasks > 0)
        return;
    if (map_get(&o->by_hash, e->hash) == i)
        map_del(&o->by_hash, e->hash);
    free((char *)(uintptr_t)e->own.labels);
    *e = (struct owned_by_tasks){ .next = o->free };
    o->free = (uint32_t)i + 1;
}

int owns_set(struct owns *o, task_slot slot, const struct task_own *own)
{
    uint64_t hash = hash_of(own), was = map_get(&o->by_slot, slot);
    uint64_t i = map_get(&o->by_hash, hash);

    if (own_is_none(own)) {
        owns_drop(o, slot);
        return 0;
    }
    if (i == MAP_NONE || !own_equal(&at(o, i)->own, own))
        i = add(o, own, hash);
    if (i == MAP_NONE)
        return SQ_ENOMEM;
    if (map_set(&o->by_slot, slot, i) < 0) {
        if (at(o, i)->tasks == 0)
            let_go(o, i);
        return SQ_ENOMEM;
    }
    at(o, i)->tasks++;
    if (was != MAP_NONE)
        let_go(o, was);
    return 0;
}

void owns_drop(struct owns *o, task_slot slot)
{
    uint64_t i = o->by_slot.n > 0 ? map_get(&o->by_slot, slot) : MAP_NONE;

    if (i == MAP_NONE)
        return;
    map_del(&o->by_slot, slot);
    let_go(o, i);
}

uint64_t owns_bytes(const struct owns *o)
{
    return pages_bytes(&o->v) + (o->by_slot.cap + o->by_hash.cap) * sizeof(struct map_slot);
}
