/* held.h: how many of those that wait are held up, and by what. Pure. */
#ifndef SEGQ_TASK_HELD_H
#define SEGQ_TASK_HELD_H

#include "common/task/state.h"
#include "task/keys/tree.h"

/* Adds the tasks of some turns, from *at on (1: the first): a step per turn, not per task. A task
 * counts once: for the lowest level that is closed. *at: where the next call goes on; 0: it was the
 * last. */
void tree_held(const struct tree *t, uint32_t *at, uint32_t steps, uint64_t held[TASK_NHOLDS]);

#endif
