/* step.h: the end of every step: chains are planned first, then releases that wait for
 * nothing, then what is to be stored, then what routers and nodes are told. Within a step all
 * stores precede all sends. */
#ifndef SEGQ_QUEUEMNG_CORE_STEP_H
#define SEGQ_QUEUEMNG_CORE_STEP_H

#include "common/base/base.h"

struct mng;

/* Once, as the last call of each entrance. */
void mng_end(struct mng *m);

#endif
