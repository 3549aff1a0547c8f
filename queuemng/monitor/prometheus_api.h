/* prometheus_api.h: one value of the Prometheus HTTP API (GET /api/v1/query: one vector sample or
 * scalar), and rates of counters. Pure: text in, numbers out.
 * Each failure is a sentence in *e: it is shown to operators. */
#ifndef SEGQ_PROMETHEUS_API_H
#define SEGQ_PROMETHEUS_API_H

#include "common/base/err.h"

struct mon_sample {
    double value;
    int64_t wall_ms; /* moment of the measurement; 0 = not known */
};

/* Exactly one series with a finite value; else SQ_EINVAL. */
SQ_CHECK int mon_parse_api(struct mon_sample *out, const char *text, size_t n, struct err *e);

/* A counter over time: per second. A counter that fell was reset: it started from 0. */
struct mon_rate {
    double last;
    msec_t last_ms;
    bool known;
};
/* SQ_EBUSY: the first reading (or no time has passed): no rate yet. */
SQ_CHECK int mon_rate_step(struct mon_rate *r, double counter, msec_t taken_ms, double *out);

#endif
