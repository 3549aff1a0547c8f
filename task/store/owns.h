/* owns.h: which tasks have something of their own, and what. Pure.
 * Equal ones are kept once: a task costs 16 to 32 bytes more, however much it has. A task
 * without costs nothing, and while nobody has anything, nothing is looked up. */
#ifndef SEGQ_TASK_OWNS_H
#define SEGQ_TASK_OWNS_H

#include "common/base/map.h"
#include "common/task/rules.h"
#include "task/store/store.h"

struct owned_by_tasks {
    struct task_own own; /* with owned labels */
    uint64_t hash;
    uint32_t tasks; /* tasks that have it; 0: the index is free, */
    uint32_t next;  /* and this is the next free one, index + 1 */
};

struct owns {
    struct pages v; /* owned; of struct owned_by_tasks */
    struct map by_slot; /* -> index */
    struct map by_hash; /* -> index, as far as two have not the same */
    uint32_t n, free;
};

void owns_init(struct owns *o);
void owns_fini(struct owns *o);
/* The slot's task has this from now on. 0 or SQ_ENOMEM: nothing has changed. */
SQ_CHECK int owns_set(struct owns *o, task_slot slot, const struct task_own *own);
void owns_drop(struct owns *o, task_slot slot);
uint64_t owns_bytes(const struct owns *o);

/* NULL: nothing. Borrowed until the slot's task goes, or gets something else. */
static inline const struct task_own *owns_of(const struct owns *o, task_slot slot)
{
    uint64_t i = o->by_slot.n > 0 ? map_get(&o->by_slot, slot) : MAP_NONE;

    return i == MAP_NONE ? NULL : &((struct owned_by_tasks *)pages_at(&o->v, (uint32_t)i))->own;
}

#endif
