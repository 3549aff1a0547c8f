/* pick.h: who is next in a queue. Pure. The rules: tree.h. */
#ifndef SEGQ_TASK_PICK_H
#define SEGQ_TASK_PICK_H

#include "task/keys/tree.h"

/* queue: its limiter. head_start: of TASK_PRIORITIES. SLOT_NONE: nobody may start now.
 * served: the turn whose share pays. Changes nothing. */
task_slot tree_pick(struct tree *t, uint32_t queue, const msec_t *head_start, uint32_t *served);
/* The limiter of a queue in which somebody may start now, each in its turn; 0: there is none. */
uint32_t tree_next_queue(struct tree *t);
/* The share of the turn, and of those above it, pays for one. Before tree_start. */
void tree_pay(struct tree *t, uint32_t served);

#endif
