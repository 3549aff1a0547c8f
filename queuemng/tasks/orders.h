/* orders.h: what task nodes are told about partitions and endpoints; a partition gets another owner. */
#ifndef SEGQ_QUEUEMNG_TASKS_ORDERS_H
#define SEGQ_QUEUEMNG_TASKS_ORDERS_H

#include "queuemng/state/tasks.h"

struct mng;

/* PART_OPEN to its owner, if it is there: its epoch, its pool's rules. */
void part_tell(struct mng *m, struct mpart *p);
/* PART_OUT to its owner: the move that is stored. */
void part_out(struct mng *m, const struct mpart *p);
/* PART_DROP: what it has goes. A node that is away is told when it registers with it. */
void part_drop(struct mng *m, const struct mtask_node *n, struct mgone *g);
/* ENDPOINT: the definition, and what the node may use of it (said, burst, serial). The node is
 * registered. */
void endpoint_tell(struct mng *m, const struct mendpoint *x, struct mshare *s);
/* ENDPOINT_DROP; a node that is away is told when it lists the endpoint. */
void endpoint_drop(struct mng *m, const struct mtask_node *n, const char *name);

/* Who had a partition may still have its files, for as long as it is away: it is noted what it is to
 * drop, and stored. */

/* Gives it to that node from now on, under this epoch, which is higher than any that it had. Who had it
 * is to drop it, and is told when it registers. */
void part_give(struct mng *m, struct mpart *p, struct mtask_node *n, uint64_t epoch);
/* The node has what it is not to have, under this epoch (0: any) or a lower one: it is to drop it. */
void part_leave(struct mng *m, part_no no, const struct mtask_node *n, uint64_t epoch);

#endif
