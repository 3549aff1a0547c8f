/* metric_def.h: a metric of the backend that queuemng watches. Texts belong to the owner of the
 * configuration. */
#ifndef SEGQ_METRIC_DEF_H
#define SEGQ_METRIC_DEF_H

#include "common/base/base.h"

enum metric_source { METRIC_PROC, METRIC_PROMETHEUS, METRIC_PAGE };
enum metric_what { METRIC_CPU, METRIC_MEMORY };
enum metric_several { METRIC_SUM, METRIC_MAX };

struct metric_def { /* a thing to watch; limits of queues refer to its name */
    char *name;
    int kind;             /* enum metric_source */
    int what;             /* proc: enum metric_what */
    char *pid_file;       /* proc: of one process; "" = see process */
    char *process;        /* proc: all processes of this name; "" = the whole machine */
    char *url;            /* prometheus: base of its API; page: the page */
    char *query;          /* prometheus: PromQL; page: the name of the sample */
    char *labels;         /* page: "name=value,..." that the sample must have */
    int several;          /* page: of several samples (enum metric_several) */
    bool counter_rate;    /* a counter: take its growth per second */
    double max;           /* a greater value is absurd */
    int64_t interval_ms, timeout_ms;
    int64_t stale_ms;     /* how long the last value holds while polls fail */
};

#endif
