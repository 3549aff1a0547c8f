/* proc_parse.h: /proc/stat, /proc/meminfo and /proc/<pid>/stat as numbers. Pure: text in,
 * numbers out. Each failure is a sentence in *e: it is shown to operators. */
#ifndef SEGQ_PROC_PARSE_H
#define SEGQ_PROC_PARSE_H

#include "common/base/err.h"

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

#endif
