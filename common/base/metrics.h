/* metrics.h: Prometheus text exposition (0.0.4): written from plain numbers, and one value of a page
 * read. Pure.
 * Cores count in their own structs; a shell's table says name, kind, help and where the
 * number is; metrics_rows() and metrics_each() write the page. Label values are escaped. */
#ifndef SEGQ_METRICS_H
#define SEGQ_METRICS_H

#include "common/base/buf.h"
#include "common/base/err.h"

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

/* A row of a table: one number inside a struct, which a process counts in or fills for the page. */
enum metric_form { METRIC_U64, METRIC_U32, METRIC_BOOL, METRIC_F64, METRIC_MS, METRIC_HISTO };
struct metric_row {
    const char *name;
    enum metric_kind kind;
    const char *help; /* a sentence without a full stop */
    size_t offset;
    enum metric_form form; /* type of the member; METRIC_MS: uint64_t, written as seconds */
};
/* The shape of the table in all processes; the form follows from the member. */
#define METRIC_ROW(name_, kind_, type_, member_, help_) \
    METRIC_ROW_AS(name_, kind_, type_, member_, help_, METRIC_FORM(((type_ *)0)->member_))
#define METRIC_SECONDS(name_, kind_, type_, member_, help_) /* the member is in milliseconds */ \
    METRIC_ROW_AS(name_, kind_, type_, member_, help_, METRIC_MS)
#define METRIC_ROW_AS(name_, kind_, type_, member_, help_, form_) \
    { .name = name_, .kind = METRIC_##kind_, .help = help_, \
      .offset = offsetof(type_, member_), .form = form_ }
#define METRIC_FORM(x) \
    _Generic((x), uint64_t: METRIC_U64, uint32_t: METRIC_U32, bool: METRIC_BOOL, \
             double: METRIC_F64, struct histo: METRIC_HISTO)
/* Head and sample of each row, from the struct at base. */
void metrics_rows(struct buf *b, const struct metric_row *rows, size_t n, const void *base);

/* Rows with a sample for each object: each() walks over views of them, labels() names one (key, value,
 * ..., NULL) or says that it has no sample. */
#define METRIC_LABELS_MAX 9
typedef void (*metric_each)(const void *of, void (*fn)(void *ctx, const void *view), void *ctx);
typedef bool (*metric_labels)(const void *view, const char *label[METRIC_LABELS_MAX]);
void metrics_each(struct buf *b, const struct metric_row *rows, size_t n, metric_each each,
                  const void *of, metric_labels labels);

/* ---- one value of a page, by name and labels. Each failure is a sentence in *e: it is shown to
 * operators ---------------------------------------------------------------------------- */

struct sample_value {
    double value;
    int64_t wall_ms; /* moment of the measurement; 0 = not known */
};

struct sample_label {
    const char *name, *value;
};
struct sample_want { /* which samples of a page */
    const char *name;
    const struct sample_label *labels; /* all must be there; more may be */
    size_t n_labels;
    bool max; /* true: the greatest of several; else their sum */
};
/* SQ_EUNKNOWN: no such sample; SQ_EINVAL: not a page, or the sample is not finite. */
SQ_CHECK int sample_page_read(struct sample_value *out, const struct sample_want *w,
                            const char *text, size_t n, struct err *e);
/* "job=x,instance=y" into labels that point into `text` (which is cut up); count or
 * SQ_EINVAL. */
SQ_CHECK int sample_labels(char *text, struct sample_label *v, size_t cap, struct err *e);

#endif
