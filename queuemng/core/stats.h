/* stats.h: the figures of queues that routers are sent once a second: waiting people, rates,
 * waiting times; this manager's clock, and the nodes that it does not reach. */
#ifndef SEGQ_QUEUEMNG_CORE_STATS_H
#define SEGQ_QUEUEMNG_CORE_STATS_H

#include "common/base/base.h"

struct mng;

/* Routers hear at the end of this step if another node is reached, or one is not any more. */
void stats_look(struct mng *m);
/* To all routers: queues whose figures have changed, and the clock. */
void stats_flush(struct mng *m);

#endif
