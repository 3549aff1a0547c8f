/* polling.h: how often the people of a lane are told to poll, from the queue's budget of polls
 * per second, and the longest interval that anybody may have been told. */
#ifndef SEGQ_QUEUEMNG_CHAIN_POLLING_H
#define SEGQ_QUEUEMNG_CHAIN_POLLING_H

#include "common/base/base.h"

struct mlane;
struct mng;

void lane_pace(struct mng *m, struct mlane *l);

#endif
