/* attempts.h: the attempts at tasks that failed: the newest of each, and how many there were before
 * them. Pure. A task without a failed attempt costs nothing; one with some, 40 bytes and 15 for
 * each, and what workers said: at most ATTEMPTS_BYTES. What finds no memory is not kept.
 * Beside them: the reply of the target to the newest attempt that failed with an answer. */
#ifndef SEGQ_TASK_ATTEMPTS_H
#define SEGQ_TASK_ATTEMPTS_H

#include "common/base/map.h"
#include "common/task/state.h"
#include "task/store/store.h"

#define ATTEMPTS_BYTES 480u /* bytes of a task's attempts: with long reasons there are fewer */

struct attempts {
    struct map by_slot; /* -> struct past, owned */
    uint64_t bytes;     /* bytes of all of them */
};

struct past { /* attempts of a task */
    uint32_t earlier; /* attempts that are not kept */
    uint32_t len;
    uint8_t bytes[]; /* bytes of attempts, the oldest first */
};

void attempts_init(struct attempts *h);
void attempts_fini(struct attempts *h);
/* Adds an attempt; the oldest goes if there are too many. */
void attempts_add(struct attempts *h, task_slot slot, const struct attempt *a);
/* Adds to the newest one what the worker said, or the target's number. */
void attempts_explain(struct attempts *h, task_slot slot, uint32_t number, const char *reason,
                     uint32_t n);
void attempts_drop(struct attempts *h, task_slot slot);
/* Reads the bytes of a record. 0, SQ_ENOMEM, SQ_EPROTO: these are not attempts. */
SQ_CHECK int attempts_load(struct attempts *h, task_slot slot, uint64_t earlier, const void *p,
                          uint32_t n);
uint64_t attempts_bytes(const struct attempts *h);
/* Into v[ATTEMPTS_KEPT], the oldest first; how many. Reasons are borrowed until the next change. */
unsigned attempts_of(const struct attempts *h, task_slot slot, struct attempt *v, uint32_t *earlier);

/* NULL: none. */
static inline const struct past *attempts_past(const struct attempts *h, task_slot slot)
{
    return h->by_slot.n > 0 ? map_get_ptr(&h->by_slot, slot) : NULL;
}

/* Which tasks have a reply, and where it is: what the target said to the newest attempt that failed
 * with an answer. Pure. A task without one costs nothing; one with it, 16 to 32 bytes. */

struct replies {
    struct map by_slot; /* -> its reference: the shell's, as that of a body */
};

void replies_init(struct replies *r);
void replies_fini(struct replies *r);
/* ref: neither 0 nor MAP_NONE. 0 or SQ_ENOMEM: nothing has changed. */
SQ_CHECK int replies_set(struct replies *r, task_slot slot, uint64_t ref);
void replies_drop(struct replies *r, task_slot slot);
uint64_t replies_bytes(const struct replies *r);

/* 0: none. */
static inline uint64_t replies_of(const struct replies *r, task_slot slot)
{
    uint64_t ref = r->by_slot.n > 0 ? map_get(&r->by_slot, slot) : MAP_NONE;

    return ref != MAP_NONE ? ref : 0;
}

/* Units that the newest attempt at a task took, where that is known (record SETTLED). Pure. A task without
 * costs nothing; one with it, 16 to 32 bytes. */

struct settled {
    struct map by_slot;  /* -> units */
    uint64_t more, back; /* units that all of them were charged beyond their costs; that they were given back */
};

void settled_init(struct settled *s);
void settled_fini(struct settled *s);
SQ_CHECK int settled_set(struct settled *s, task_slot slot, uint64_t units);
void settled_drop(struct settled *s, task_slot slot);
uint64_t settled_bytes(const struct settled *s);

/* False: it is not known. */
static inline bool settled_of(const struct settled *s, task_slot slot, uint64_t *units)
{
    *units = s->by_slot.n > 0 ? map_get(&s->by_slot, slot) : MAP_NONE;
    return *units != MAP_NONE;
}

#endif
