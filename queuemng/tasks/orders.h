/* orders.h: what task nodes are told about partitions and endpoints. */
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

#endif
