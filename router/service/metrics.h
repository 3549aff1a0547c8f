/* metrics.h: the router's /metrics page. Shell. */
#ifndef SEGQ_ROUTER_METRICS_H
#define SEGQ_ROUTER_METRICS_H

#include "common/base/buf.h"

void router_metrics(void *router, struct buf *b);

#endif
