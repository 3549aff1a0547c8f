/* proc.h: readings from /proc. Shell; /proc does not block. */
#ifndef SEGQ_PROC_READ_H
#define SEGQ_PROC_READ_H

#include "common/base/err.h"
#include "common/base/metrics.h"
#include "queuemng/monitor/monitor.h"

/* /proc/stat, /proc/meminfo and /proc/<pid>/stat as numbers. Pure: text in,
 * numbers out. Each failure is a sentence in *e: it is shown to operators. */

struct mon_cpu { /* times of the whole machine, in ticks */
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

#define MON_PROCS_MAX 1024 /* processes of one name that are looked at */

struct mon_known { /* a process at the last reading */
    int pid;
    uint64_t start, ticks;
};
struct mon_proc_state { /* zero = new */
    bool known;
    msec_t at_ms;
    struct mon_cpu cpu;
    struct mon_known *v; /* owned */
    size_t n;
};

/* SQ_EBUSY: the first of two readings that a percentage needs. */
SQ_CHECK int mon_proc_read(struct mon_proc_state *s, const struct metric_def *d, msec_t now_ms,
                           double *value, struct err *e);
void mon_proc_fini(struct mon_proc_state *s);

/* A value of an answer of the Prometheus HTTP API (GET /api/v1/query: one vector sample or
 * scalar); rates of counters. Of a page: common/base/metrics.h.
 * Pure: text in, numbers out. Each failure is a sentence in *e: it is shown to operators. */
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
