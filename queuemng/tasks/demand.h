/* demand.h: what each node should have of what an endpoint bears, by what it could use (claim.h). A
 * node could use what it uses, a quarter more, and what waits there for nothing but its share. One
 * that is not heard keeps what it holds. */
#ifndef SEGQ_QUEUEMNG_TASKS_DEMAND_H
#define SEGQ_QUEUEMNG_TASKS_DEMAND_H

#include "queuemng/state/tasks.h"

struct mng;

/* Each second: what the nodes have reported is looked at. */
void demand_second(struct mng *m);
/* Sets the aims of all shares: the whole is divided among the owners. */
void demand_aims(struct mng *m, struct mendpoint *x, struct bears whole);

#endif
