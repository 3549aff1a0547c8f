/* monitor.h: reads the metrics of the configuration, each at its own interval:
 * from /proc of this machine, or over HTTP. Shell; never blocks the loop.
 *
 * A reading that fails (refused, late, not 200, a redirect, a body over 1 MiB) is tried
 * again at the next interval; only when none succeeded for `stale` is it reported. What
 * arrives but cannot be (NaN, empty, above `max`) is reported at once. */
#ifndef SEGQ_MONITOR_H
#define SEGQ_MONITOR_H

#include "common/net/ev.h"
#include "queuemng/monitor/metric_def.h"

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
