/* liveness.h: segment nodes by the clock: a silent one is given up, a draining one is emptied. */
#ifndef SEGQ_QUEUEMNG_NODES_LIVENESS_H
#define SEGQ_QUEUEMNG_NODES_LIVENESS_H

#include "common/base/base.h"

struct mng;
struct mnode;

/* Opens its segments elsewhere from now on. */
void node_lost(struct mng *m, struct mnode *n);
/* Every tick, each node. */
void nodes_tick(struct mng *m);

#endif
