/* orders.h: which manager is obeyed; partitions come and go. Pure. For the files of this room.
 *
 * The manager with the highest epoch is obeyed; of two under one epoch only the first; and none
 * of another store, whatever its epoch. A partition has an epoch of its own, which only rises. */
#ifndef SEGQ_TASKTAB_ORDERS_H
#define SEGQ_TASKTAB_ORDERS_H

#include "task/table/state.h"

/* TASK_OK, PART_OPEN, PART_DROP. */
void tasktab_order(struct tasktab *t, struct tpeer *from, const struct msg *m,
                   struct outbox *out);

struct part_seed {
    part_no no;
    uint32_t max_tasks;
    const uint8_t *seed;
};
/* An empty partition. NULL: no memory. */
struct part *tasktab_part_new(struct tasktab *t, const struct part_seed *s);
void tasktab_part_free(struct tasktab *t, struct part *p);
/* It leaves the table, and is freed. */
void tasktab_part_drop(struct tasktab *t, struct part *p);

#endif
