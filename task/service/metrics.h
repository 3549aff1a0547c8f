/* metrics.h: the node's page for Prometheus. Shell. */
#ifndef SEGQ_TASK_METRICS_H
#define SEGQ_TASK_METRICS_H

#include "common/base/buf.h"

/* For admin_opts; ctx: struct task_service. */
void task_metrics(void *ctx, struct buf *b);

#endif
