/* map.h: the chain map that routers are sent: queues, lanes, segments, aliases, nodes and
 * keys; to each router the changes since the version that it has. */
#ifndef SEGQ_QUEUEMNG_CORE_MAP_H
#define SEGQ_QUEUEMNG_CORE_MAP_H

#include "common/base/base.h"

struct mng;

/* To each router what has changed since its version; without memory with the next step. */
void maps_flush(struct mng *m);

#endif
