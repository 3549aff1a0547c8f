/* owners.h: a partition gets another owner. Who had it may still have its files, for as long as it
 * is away: it is noted what it is to drop, and stored. */
#ifndef SEGQ_QUEUEMNG_TASKS_OWNERS_H
#define SEGQ_QUEUEMNG_TASKS_OWNERS_H

#include "queuemng/state/tasks.h"

struct mng;

/* Gives it to that node from now on, under this epoch, which is higher than any that it had. Who had it
 * is to drop it, and is told when it registers. */
void part_give(struct mng *m, struct mpart *p, struct mtask_node *n, uint64_t epoch);
/* The node has what it is not to have, under this epoch (0: any) or a lower one: it is to drop it. */
void part_leave(struct mng *m, part_no no, const struct mtask_node *n, uint64_t epoch);

#endif
