/* orders.h: which manager is obeyed; partitions come and go. Pure. For the files of this room.
 *
 * The manager with the highest epoch is obeyed; of two under one epoch only the first; and none
 * of another store, whatever its epoch. A partition has an epoch of its own, which only rises.
 *
 * A partition in a store that other nodes can open, too (tasktab_opts.shared), is opened by reading
 * it there, and lost when another node has it. */
#ifndef SEGQ_TASKTAB_ORDERS_H
#define SEGQ_TASKTAB_ORDERS_H

#include "task/node/state.h"

/* TASK_OK, PART_OPEN, PART_DROP, PART_OUT. */
void tasktab_order(struct tasktab *t, struct tpeer *from, const struct msg *m,
                   struct outbox *out);
/* All that is being read is forgotten. */
void tasktab_openings_free(struct tasktab *t);

#endif
