/* metrics.h: the node's page for Prometheus. */
#ifndef SEGQ_SEG_SERVICE_METRICS_H
#define SEGQ_SEG_SERVICE_METRICS_H

#include "common/base/buf.h"

/* struct admin_opts.metrics; ctx: struct seg_service. */
void seg_metrics(void *ctx, struct buf *b);

#endif
