/* metrics.h: Prometheus text exposition (0.0.4) from plain numbers. Pure.
 * Cores count in their own structs; a shell's table says name, kind, help and where the
 * number is; metrics_* writes the page. Label values are escaped. */
#ifndef SEGQ_METRICS_H
#define SEGQ_METRICS_H

#include "common/base/buf.h"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/* # HELP and # TYPE; then one or more samples of that name. Names are `segq_...`, with
 * units (_seconds, _bytes), counters end in _total. */
void metrics_head(struct buf *b, const char *name, enum metric_kind kind, const char *help);
/* labels: alternating key, value, ..., NULL. Keys are ours; values are escaped. */
void metrics_u64(struct buf *b, const char *name, const char *const *labels, uint64_t v);
void metrics_f64(struct buf *b, const char *name, const char *const *labels, double v);

/* Head and sample of a name that has one. */
void metrics_value(struct buf *b, const char *name, enum metric_kind kind, const char *help,
                   double v);
/* Head of a counter, and a sample for each of n values of a label. */
void metrics_by(struct buf *b, const char *name, const char *help, const char *label,
                const char *const *values, const uint64_t *v, size_t n);

/* A table of plain counters and gauges: one row per uint64_t inside a struct. */
struct metric_row {
    const char *name;
    enum metric_kind kind;
    const char *help;
    size_t offset; /* offset of a uint64_t */
};
/* The shape of the table in all processes. help: a sentence without a full stop. */
#define METRIC_ROW(name_, kind_, type_, member_, help_) \
    { .name = name_, .kind = METRIC_##kind_, .help = help_, .offset = offsetof(type_, member_) }
void metrics_rows(struct buf *b, const struct metric_row *rows, size_t n, const void *base);

/* Latency histogram: powers of two of microseconds, 1 us .. 2^26 us. */
#define HISTO_BUCKETS 28
struct histo {
    uint64_t count[HISTO_BUCKETS];
    uint64_t sum_us, n;
};
static inline void histo_add(struct histo *h, uint64_t us)
{
    unsigned b = us == 0 ? 0 : 64 - (unsigned)__builtin_clzll(us);
    h->count[b < HISTO_BUCKETS ? b : HISTO_BUCKETS - 1]++;
    h->sum_us += us;
    h->n++;
}
static inline void histo_join(struct histo *h, const struct histo *more)
{
    for (unsigned b = 0; b < HISTO_BUCKETS; b++)
        h->count[b] += more->count[b];
    h->sum_us += more->sum_us;
    h->n += more->n;
}
void metrics_histo(struct buf *b, const char *name, const char *help, const struct histo *h);

#endif
