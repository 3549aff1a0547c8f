/* replies.h: which tasks have a reply, and where it is: what the target said to the newest attempt
 * that failed with an answer. Pure. A task without one costs nothing; one with it, 16 to 32 bytes. */
#ifndef SEGQ_TASK_REPLIES_H
#define SEGQ_TASK_REPLIES_H

#include "common/base/map.h"
#include "task/store/store.h"

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

#endif
