/* monitors.h: readings of monitors, and which monitors there are. */
#ifndef SEGQ_QUEUEMNG_CORE_MONITORS_H
#define SEGQ_QUEUEMNG_CORE_MONITORS_H

#include "common/base/base.h"

struct err;
struct mng;
struct cfg_list;

/* A reading of a monitor: queuemng/policy/release.h validates it. */
void mng_reading(struct mng *m, msec_t now_ms, const char *metric, double value,
                 msec_t taken_ms);
/* No reading: why, for operators. */
void mng_reading_failed(struct mng *m, msec_t now_ms, const char *metric, const char *why);
void mng_metrics_set(struct mng *m, msec_t now_ms, const char *const *names, size_t n);
/* SQ_EINVAL: a limit names a metric that no monitor measures, and none of `old` (NULL ok) did. */
SQ_CHECK int metrics_check(const struct mng *m, const struct cfg_list *limits,
                           const struct cfg_list *old, struct err *e);

#endif
