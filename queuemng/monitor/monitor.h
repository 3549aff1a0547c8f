/* monitor.h: reads the metrics of the configuration, each at its own interval:
 * from /proc of this machine, or over HTTP. Shell; never blocks the loop.
 *
 * A reading that fails (refused, late, not 200, a redirect, a body over 1 MiB) is tried
 * again at the next interval; only when none succeeded for `stale` is it reported. What
 * arrives but cannot be (NaN, empty, above `max`) is reported at once. */
#ifndef SEGQ_MONITOR_H
#define SEGQ_MONITOR_H

#include "common/base/base.h"
#include "common/net/ev.h"

/* A metric of the backend that queuemng watches. Texts belong to the owner of the
 * configuration. */

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

struct monitor;

struct monitor_calls {
    /* taken_ms: monotonic, of the measurement */
    void (*on_reading)(void *ctx, const char *metric, double value, msec_t taken_ms);
    void (*on_failed)(void *ctx, const char *metric, const char *why);
};

/* SQ_EINVAL: monitor_new() would not take it. */
SQ_CHECK int monitor_check(const struct metric_def *d, struct err *e);
/* defs are referred to until monitor_free() begins. */
SQ_CHECK int monitor_new(struct monitor **out, struct ev *ev, const struct metric_def *defs,
                         size_t n, const struct monitor_calls *calls, void *ctx,
                         struct err *e);
void monitor_free(struct monitor *m); /* NULL is fine; not from inside its callbacks */

#endif
