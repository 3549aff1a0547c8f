/* leave.h: tasks leave their line, their worker, and the partition's work. Pure.
 * For the files of this room. */
#ifndef SEGQ_TASK_LEAVE_H
#define SEGQ_TASK_LEAVE_H

#include "task/engine/engine.h"

/* Ends its wait: its entry goes; its place goes. */
void leave_row(struct engine *e, task_slot slot);
void leave_line(struct engine *e, task_slot slot);
/* Takes it from those who were told to run. False: it was not among them. */
bool leave_first(struct engine *e, task_slot slot);

/* Takes its call from the count of its target. */
void leave_target(struct engine *e, task_slot slot);

/* Remembers the start under which a task was done that goes now, or was given back. */
void leave_mark(struct engine *e, task_no no, uint64_t start, bool given_back);

/* Applies the record of that name, like task_apply(): its attempt has failed; it is final. */
int leave_retry(struct engine *e, task_slot slot, const struct trec *r);
int leave_done(struct engine *e, task_slot slot, const struct trec *r);
int leave_dead(struct engine *e, task_slot slot, const struct trec *r);
int leave_cancel(struct engine *e, task_slot slot, const struct trec *r);
int leave_expire(struct engine *e, task_slot slot, const struct trec *r);
/* Final at once; its timer stays the end of its lease: so long its target, or its worker, may be at
 * it. Then the record again. */
int leave_cut(struct engine *e, task_slot slot, const struct trec *r);

#endif
