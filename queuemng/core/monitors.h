/* monitors.h: what the process finds out for the core: readings of monitors, and which monitors there
 * are; addresses of targets with `discover`. */
#ifndef SEGQ_QUEUEMNG_CORE_MONITORS_H
#define SEGQ_QUEUEMNG_CORE_MONITORS_H

#include "common/base/base.h"
#include "queuemng/policy/addresses.h"

struct err;
struct mng;
struct mng_out;
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

/* Names of targets with `discover` are asked for by the process, and what it is told comes here
 * (policy/addresses.h, tasks/table.h). */

typedef void (*mng_ask_fn)(void *ctx, const char *endpoint, const char *url);

/* Asks for each name whose time has come, and that is not being asked for. */
void mng_each_name_due(struct mng *m, msec_t now_ms, mng_ask_fn ask, void *ctx);
/* Name servers have answered, or have not. */
void mng_name_told(struct mng *m, msec_t now_ms, const char *endpoint, const char *url, const struct name_answer *a,
                   struct mng_out *out);

#endif
