/* eta.h: what each lane's people are told once a second: their waiting time, and how true it was
 * (policy/eta_lane.h has the rules); how often they are to poll, from the queue's budget of polls
 * per second, and the longest interval that anybody may have been told. */
#ifndef SEGQ_QUEUEMNG_RELEASE_ETA_H
#define SEGQ_QUEUEMNG_RELEASE_ETA_H

#include "common/base/base.h"

struct mlane;
struct mng;

/* Once a second. */
void lane_eta(const struct mng *m, struct mlane *l);
/* Seconds that the last in line is told; see struct mng_lane_view. */
double lane_eta_last(const struct mlane *l, const char **reason);

/* Once a second: the lane's share of the poll budget, told to nodes if it has changed. */
void lane_pace(struct mng *m, struct mlane *l);

#endif
