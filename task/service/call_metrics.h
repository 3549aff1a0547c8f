/* call_metrics.h: calls, their endpoints, and the targets of those that have several, for /metrics. */
#ifndef SEGQ_TASK_CALL_METRICS_H
#define SEGQ_TASK_CALL_METRICS_H

#include "task/service/caller.h"

void caller_metrics(const struct caller *c, struct buf *b);

#endif
