/* opening.h: queues that open and close by the clock: the phases of policy/schedule.h put into
 * effect. */
#ifndef SEGQ_QUEUEMNG_RELEASE_OPENING_H
#define SEGQ_QUEUEMNG_RELEASE_OPENING_H

#include "common/base/base.h"

struct mng;
struct mqueue;

/* Takes its new definition. */
void sched_set(struct mng *m, struct mqueue *q);
/* second: look for schedules again. */
void sched_tick(struct mng *m, bool second);

#endif
