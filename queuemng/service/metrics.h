/* metrics.h: the manager's page for Prometheus. */
#ifndef SEGQ_MNG_METRICS_H
#define SEGQ_MNG_METRICS_H

#include "common/base/buf.h"

/* struct admin_opts.metrics; ctx: struct mng_service. */
void mng_metrics(void *ctx, struct buf *b);

#endif
