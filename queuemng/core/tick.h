/* tick.h: the manager's time: each tick releases, each second renews rates, intervals and figures. */
#ifndef SEGQ_QUEUEMNG_CORE_TICK_H
#define SEGQ_QUEUEMNG_CORE_TICK_H

#include "common/base/base.h"

struct mng;
struct mng_out;

/* Every tick_ms. */
void mng_tick(struct mng *m, msec_t now_ms, int64_t wall_ms, struct mng_out *out);

/* Before each step. If the tick is late by a second or more, this process was stopped or busy, and
 * no node could come back: that time does not count for one that has no link. When a node was heard
 * last stays true: routers go by it (STATS), and so does what those behind it are told. */
void mng_forgive(struct mng *m, msec_t now_ms);

#endif
