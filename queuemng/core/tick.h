/* tick.h: the manager's time: each tick releases, each second renews rates, intervals and figures. */
#ifndef SEGQ_QUEUEMNG_CORE_TICK_H
#define SEGQ_QUEUEMNG_CORE_TICK_H

#include "common/base/base.h"

struct mng;
struct mng_out;

/* Every tick_ms. */
void mng_tick(struct mng *m, msec_t now_ms, int64_t wall_ms, struct mng_out *out);

/* Before the step that follows `ms` in which this process itself stood still: no node could be heard,
 * and none of them is silent for it, as with the heartbeats of links (common/net/rpc.h). */
void mng_forgive(struct mng *m, msec_t now_ms, msec_t ms);

#endif
