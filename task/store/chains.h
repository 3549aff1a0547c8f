/* chains.h: which tasks have another one behind them, which is submitted when they succeed; and which
 * came of another one. Pure. A task without costs nothing, and while no task has any, nothing is
 * looked up; one with costs 16 to 32 bytes and sizeof(struct chain), and what is to be submitted. */
#ifndef SEGQ_TASK_CHAINS_H
#define SEGQ_TASK_CHAINS_H

#include "common/base/map.h"
#include "common/task/state.h"
#include "task/store/store.h"

struct chain {
    part_no after_part, next_part; /* partitions of those two; next: 0: there is none yet */
    task_no after_no, next_no;     /* after: 0: it came of none */
    uint8_t state; /* enum chain_state */
    uint8_t why;   /* FAILED: enum chain_why */
    uint32_t n;
    char *then; /* owned; WAITS: a message TASK_PUT of one row, encoded, of n bytes; else NULL */
};

struct chains {
    struct map by_slot; /* -> struct chain, owned */
    uint64_t bytes;     /* bytes of all of them */
};

void chains_init(struct chains *c);
void chains_fini(struct chains *c);
/* The slot's task has this from now on; `then` is copied. 0 or SQ_ENOMEM: nothing has changed.
 * It needs no memory if the task has one, and n is 0. */
SQ_CHECK int chains_set(struct chains *c, task_slot slot, const struct chain *is);
void chains_drop(struct chains *c, task_slot slot);
/* Nothing comes of it: its task is over, and has not succeeded. */
void chains_end(struct chains *c, task_slot slot);

uint64_t chains_bytes(const struct chains *c);

/* NULL: nothing. Borrowed until the slot's next change. */
static inline const struct chain *chains_of(const struct chains *c, task_slot slot)
{
    return c->by_slot.n > 0 ? map_get_ptr(&c->by_slot, slot) : NULL;
}

#endif
