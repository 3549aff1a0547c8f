/* polling.h: how often the people of a lane are told to poll, from the queue's budget of polls
 * per second, and the longest interval that anybody may have been told. */
#ifndef SEGQ_QUEUEMNG_CHAIN_POLLING_H
#define SEGQ_QUEUEMNG_CHAIN_POLLING_H

#include "common/base/base.h"

struct mlane;
struct mng;

/* Once a second: the lane's share of the poll budget, told to nodes if it has changed. */
void lane_pace(struct mng *m, struct mlane *l);

#endif
