/* eta.h: once a second, what each lane's people are told about their waiting time, and how
 * true it was. policy/eta_lane.h has the rules. */
#ifndef SEGQ_QUEUEMNG_RELEASE_ETA_H
#define SEGQ_QUEUEMNG_RELEASE_ETA_H

#include "common/base/base.h"

struct mlane;
struct mng;

/* Once a second. */
void lane_eta(const struct mng *m, struct mlane *l);
/* Seconds that the last in line is told; see struct mng_lane_view. */
double lane_eta_last(const struct mlane *l, const char **reason);

#endif
