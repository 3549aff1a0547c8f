/* quotas_left.h: what answers of an endpoint, or a target, say is left of a quota (task/calls/told.h): heard of by one
 * task node, and passed on to the others. */
#ifndef SEGQ_QUEUEMNG_TASKS_QUOTAS_LEFT_H
#define SEGQ_QUEUEMNG_TASKS_QUOTAS_LEFT_H

#include "queuemng/state/tasks.h"

struct mng;

/* A node has reported it. */
void quotas_left_hear(struct mng *m, struct mendpoint *x, const struct endpoint_row *r);
/* Each second: tells it to nodes that have heard nothing themselves. */
void quotas_left_spread(struct mng *m, struct mendpoint *x);

#endif
