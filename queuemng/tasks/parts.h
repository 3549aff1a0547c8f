/* parts.h: partitions and their owners. A partition has one owner, under an epoch that no other
 * owner of it ever had; both are stored before the owner is told. It is told again each second
 * until it reports the partition. A node that is away keeps its partitions: their tasks are on
 * its disk. */
#ifndef SEGQ_QUEUEMNG_TASKS_PARTS_H
#define SEGQ_QUEUEMNG_TASKS_PARTS_H

#include "queuemng/state/tasks.h"

struct mng;

/* Once a second: partitions without an owner get the one that has the fewest. Together with the
 * others of that second, so that nodes that come at the same time share them. */
void parts_tick(struct mng *m);
/* Takes what a registering node has, and orders what it should have. */
void parts_listed(struct mng *m, struct mtask_node *n, const struct msg_task_reg *g);
void on_part_status(struct mng *m, struct mtask_node *n, const struct msg_part_status *g);

#endif
