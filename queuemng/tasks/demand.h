/* demand.h: what each node should have of what an endpoint bears: by what it could use, max-min fair
 * (policy/fair.h). A node could use what it uses, a quarter more, and what waits there for nothing
 * but its share; by the higher one of its last two seconds. One that is not heard keeps what it
 * holds. Each has a little in any case, so that a first task does not wait for the manager. */
#ifndef SEGQ_QUEUEMNG_TASKS_DEMAND_H
#define SEGQ_QUEUEMNG_TASKS_DEMAND_H

#include "queuemng/state/tasks.h"

struct mng;

/* Each second: what the nodes have reported is looked at. */
void demand_second(struct mng *m);
/* Sets `aim` of all shares; the sum of those of owners is the whole. With fewer slots than owners
 * those that want one have it, for five seconds each while others want it, too; who has no slot has
 * no rate. */
void demand_aims(struct mng *m, struct mendpoint *x, struct mbears whole);

#endif
