/* stats.h: the figures of queues that routers are sent once a second: waiting people, rates,
 * waiting times, and this manager's clock. */
#ifndef SEGQ_QUEUEMNG_CORE_STATS_H
#define SEGQ_QUEUEMNG_CORE_STATS_H

#include "common/base/base.h"

struct mng;

/* To all routers: queues whose figures have changed, and the clock. */
void stats_flush(struct mng *m);

#endif
