/* metrics_process.h: the metrics that every process has. Shell. */
#ifndef SEGQ_METRICS_PROCESS_H
#define SEGQ_METRICS_PROCESS_H

#include "common/base/buf.h"

/* Start time, resident memory, CPU seconds, open fds, build info. */
void metrics_process(struct buf *b, const char *program);

#endif
