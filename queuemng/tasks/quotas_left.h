/* quotas_left.h: what answers of an endpoint, or a target, say is left of a quota (task/calls/told.h): heard of by one
 * task node, and passed on to the others. */
#ifndef SEGQ_QUEUEMNG_TASKS_QUOTAS_LEFT_H
#define SEGQ_QUEUEMNG_TASKS_QUOTAS_LEFT_H

#include "queuemng/state/tasks.h"

struct mng;

/* A node has reported it, and goes by the definition of now: a word of before a reset is not heard. */
void quotas_left_hear(struct mng *m, struct mendpoint *x, const struct endpoint_row *r);
/* By a reset, or since other fields say it: of the endpoint, and of its targets. */
void quotas_left_forget(struct mendpoint *x);
/* Each second: tells it to nodes that have heard nothing themselves. */
void quotas_left_spread(struct mng *m, struct mendpoint *x);

#endif
