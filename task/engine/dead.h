/* dead.h: tasks without an attempt left, by queue, and which of them wait again. Pure.
 * For the files of this room; what operators say is in redrive.h.
 *
 * A queue has a list of its dead, the one that died first in front: O(1) to add and to remove.
 * While it is redriven, it has a rate, and the last one that is meant. */
#ifndef SEGQ_TASK_DEAD_H
#define SEGQ_TASK_DEAD_H

#include "task/engine/engine.h"

/* Adds a dead one: behind all others. */
void dead_add(struct engine *e, task_slot slot);
void dead_remove(struct engine *e, task_slot slot);
/* Smaller for who died earlier; for its record. */
uint64_t dead_place(const struct engine *e, task_slot slot);
/* Applies REDRIVING, like task_apply(). */
SQ_CHECK int dead_apply_redriving(struct engine *e, const struct trec *r);
struct rate dead_rate(const struct tqueue *q);
void dead_write_redrives(const struct engine *e, struct buf *out);
/* After a replay: no redrive begins with a full bucket. */
void dead_empty_buckets(struct engine *e);

#endif
