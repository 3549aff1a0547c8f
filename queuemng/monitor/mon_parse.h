/* mon_parse.h: what monitors answer, as numbers. Pure: text in, numbers out.
 *   Prometheus HTTP API  GET /api/v1/query: one vector sample or scalar
 *   a /metrics page      text exposition: samples by name and labels
 *   /proc                stat, meminfo, <pid>/stat
 * Each failure is a sentence in *e: it is shown to operators. */
#ifndef SEGQ_MON_PARSE_H
#define SEGQ_MON_PARSE_H

#include "common/base/err.h"

struct mon_sample {
    double value;
    int64_t wall_ms; /* of the measurement; 0 = not said */
};

/* Exactly one series with a finite value; else SQ_EINVAL. */
SQ_CHECK int mon_parse_api(struct mon_sample *out, const char *text, size_t n, struct err *e);

struct mon_label {
    const char *name, *value;
};
struct mon_want { /* which samples of a page */
    const char *name;
    const struct mon_label *labels; /* all must be there; more may be */
    size_t n_labels;
    bool max; /* of several take the greatest; else their sum */
};
/* SQ_EUNKNOWN: no such sample; SQ_EINVAL: not a page, or the sample is not finite. */
SQ_CHECK int mon_parse_page(struct mon_sample *out, const struct mon_want *w,
                            const char *text, size_t n, struct err *e);
/* "job=x,instance=y" into labels that point into `text` (which is cut up); count or
 * SQ_EINVAL. */
SQ_CHECK int mon_labels(char *text, struct mon_label *v, size_t cap, struct err *e);

/* A counter over time: per second. A counter that fell was reset: it started from 0. */
struct mon_rate {
    double last;
    msec_t last_ms;
    bool known;
};
/* SQ_EBUSY: the first reading (or no time has passed): no rate yet. */
SQ_CHECK int mon_rate_step(struct mon_rate *r, double counter, msec_t taken_ms, double *out);

struct mon_cpu { /* of the whole machine, in ticks */
    uint64_t busy, total;
};
SQ_CHECK int mon_parse_stat(struct mon_cpu *out, const char *text, size_t n, struct err *e);
/* 0..100; negative if no time has passed */
double mon_cpu_percent(const struct mon_cpu *before, const struct mon_cpu *now);
/* Used memory in percent (MemAvailable). */
SQ_CHECK int mon_parse_meminfo(double *percent, const char *text, size_t n, struct err *e);

struct mon_proc {
    uint64_t ticks; /* user and system time */
    uint64_t start; /* when it started: tells a reused pid */
    uint64_t rss_pages;
    char name[20];
};
SQ_CHECK int mon_parse_proc(struct mon_proc *out, const char *text, size_t n, struct err *e);

#endif
