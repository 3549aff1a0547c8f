/* apply.h: carries records out: the only code that changes tasks. Pure.
 * For the files of this room. */
#ifndef SEGQ_TASK_APPLY_H
#define SEGQ_TASK_APPLY_H

#include "task/engine/engine.h"

/* 0; SQ_ENOMEM, nothing has changed; SQ_EPROTO: the record contradicts the state (never of a
 * record that a command of this engine made). */
SQ_CHECK int task_apply(struct engine *e, const struct trec *r);
struct trec task_chain_record(task_no no, const struct chain *k);
/* OWN; its text is in b. Without memory b->failed is set. */
struct trec task_own_record(task_no no, const struct task_own *own, struct buf *b);
/* Carries it out, and puts it into the log. */
SQ_CHECK int task_perform(struct engine *e, const struct trec *r);
/* The task has this of its own from now on. */
SQ_CHECK int task_perform_own(struct engine *e, task_no no, const struct task_own *own);
/* The same of a record that needs no memory and fits: asserted. */
void task_perform_sure(struct engine *e, const struct trec *r);

/* The slot of a task, if it is in one of the states (bits); else SQ_ESTALE, SQ_EUNKNOWN, SQ_ECONFLICT. */
static inline int64_t engine_find(const struct engine *e, task_no no, unsigned states)
{
    task_slot slot = task_find(&e->store, no);

    if (e->fenced)
        return SQ_ESTALE;
    if (slot == SLOT_NONE)
        return SQ_EUNKNOWN;
    if ((states >> task_at(&e->store, slot)->state & 1) == 0)
        return SQ_ECONFLICT;
    return slot;
}

#endif
