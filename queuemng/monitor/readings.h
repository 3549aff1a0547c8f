/* readings.h: one value of an answer: of a /metrics page (Prometheus text exposition), by name and labels;
 * of the Prometheus HTTP API (GET /api/v1/query: one vector sample or scalar); rates of counters.
 * Pure: text in, numbers out. Each failure is a sentence in *e: it is shown to operators. */
#ifndef SEGQ_MONITOR_READINGS_H
#define SEGQ_MONITOR_READINGS_H

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

struct mon_label {
    const char *name, *value;
};
struct mon_want { /* which samples of a page */
    const char *name;
    const struct mon_label *labels; /* all must be there; more may be */
    size_t n_labels;
    bool max; /* true: the greatest of several; else their sum */
};
/* SQ_EUNKNOWN: no such sample; SQ_EINVAL: not a page, or the sample is not finite. */
SQ_CHECK int mon_parse_page(struct mon_sample *out, const struct mon_want *w,
                            const char *text, size_t n, struct err *e);
/* "job=x,instance=y" into labels that point into `text` (which is cut up); count or
 * SQ_EINVAL. */
SQ_CHECK int mon_labels(char *text, struct mon_label *v, size_t cap, struct err *e);

#endif
