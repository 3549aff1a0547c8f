/* metric_limits.h: limits by metrics, of a queue of people or of a pool of task queues: metrics with
 * tiers, each with a rate. From configuration and API, through one table. Pure. */
#ifndef SEGQ_METRIC_LIMITS_H
#define SEGQ_METRIC_LIMITS_H

#include "common/config/cfg.h"

#define METRIC_LIMITS_MAX 16

struct def_tier { /* while the metric is below `below`, at most rate_per_s */
    double below;
    double rate_per_s;
};

struct def_limit { /* a metric and its tiers, ascending `below`; above the last: 0 */
    char *metric;           /* name of a monitor in queuemng.yaml: "cpu" ... */
    struct cfg_list tiers;  /* struct def_tier */
};

extern const struct cfg_key metric_limit_keys[]; /* keys of a struct def_limit */

/* Lists of struct def_limit. Tiers ascend, their rates do not rise, no metric is there twice: 0, or
 * SQ_EINVAL. */
SQ_CHECK int metric_limits_check(const struct cfg_list *limits, struct err *e);
/* A limit whose metric nobody measures would sit on its fallback for ever: SQ_EINVAL, with the names
 * that there are, unless `old` (NULL ok) names it already: its monitor was taken out since. */
SQ_CHECK int metric_limits_measured(const struct cfg_list *limits, const struct cfg_list *old,
                                    const char *const *names, size_t n, struct err *e);
bool metric_limits_name(const struct cfg_list *limits, const char *metric); /* some limit does */
/* Differs (but for one in 2^64) if the metrics, their order, or their tiers differ; of an empty list: 0. */
uint64_t metric_limits_digest(const struct cfg_list *limits);

#endif
