/* readings.h: one value of an answer of the Prometheus HTTP API (GET /api/v1/query: one vector sample or
 * scalar); rates of counters. Of a page: common/base/sample_page.h.
 * Pure: text in, numbers out. Each failure is a sentence in *e: it is shown to operators. */
#ifndef SEGQ_MONITOR_READINGS_H
#define SEGQ_MONITOR_READINGS_H

#include "common/base/sample_page.h"

/* Exactly one series with a finite value; else SQ_EINVAL. */
SQ_CHECK int mon_parse_api(struct sample_value *out, const char *text, size_t n, struct err *e);

/* A counter over time: per second. A counter that fell was reset: it started from 0. */
struct mon_rate {
    double last;
    msec_t last_ms;
    bool known;
};
/* SQ_EBUSY: the first reading (or no time has passed): no rate yet. */
SQ_CHECK int mon_rate_step(struct mon_rate *r, double counter, msec_t taken_ms, double *out);

#endif
