/* metrics.c: the text format that Prometheus scrapes. */
#include "common/base/metrics.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_name[] = {
    [METRIC_COUNTER] = "counter",
    [METRIC_GAUGE] = "gauge",
    [METRIC_HISTOGRAM] = "histogram",
};

/* Backslash and line feed are escaped everywhere, quotes in label values only. */
static void escaped(struct buf *b, const char *s, bool quotes)
{
    for (; *s != '\0'; s++) {
        if (*s == '\n') {
            buf_str(b, "\\n");
            continue;
        }
        if (*s == '\\' || (quotes && *s == '"'))
            buf_byte(b, '\\');
        buf_byte(b, (uint8_t)*s);
    }
}

void metrics_head(struct buf *b, const char *name, enum metric_kind kind, const char *help)
{
    buf_str(b, "# HELP ");
    buf_str(b, name);
    buf_byte(b, ' ');
    escaped(b, help, false);
    buf_str(b, "\n# TYPE ");
    buf_str(b, name);
    buf_byte(b, ' ');
    buf_str(b, kind_name[kind]);
    buf_byte(b, '\n');
}

static void name_and_labels(struct buf *b, const char *name, const char *const *labels)
{
    buf_str(b, name);
    if (labels != NULL && labels[0] != NULL) {
        for (unsigned i = 0; labels[i] != NULL && labels[i + 1] != NULL; i += 2) {
            buf_byte(b, i == 0 ? '{' : ',');
            buf_str(b, labels[i]);
            buf_str(b, "=\"");
            escaped(b, labels[i + 1], true);
            buf_byte(b, '"');
        }
        buf_byte(b, '}');
    }
    buf_byte(b, ' ');
}

/* The shortest of two spellings that reads back as the same number. */
static void number(struct buf *b, double v)
{
    char s[32];

    if (isnan(v)) {
        buf_str(b, "NaN");
    } else if (isinf(v)) {
        buf_str(b, v > 0 ? "+Inf" : "-Inf");
    } else {
        snprintf(s, sizeof(s), "%.15g", v);
        if (strtod(s, NULL) != v)
            snprintf(s, sizeof(s), "%.17g", v);
        buf_str(b, s);
    }
}

void metrics_u64(struct buf *b, const char *name, const char *const *labels, uint64_t v)
{
    name_and_labels(b, name, labels);
    buf_u64(b, v);
    buf_byte(b, '\n');
}

void metrics_f64(struct buf *b, const char *name, const char *const *labels, double v)
{
    name_and_labels(b, name, labels);
    number(b, v);
    buf_byte(b, '\n');
}

void metrics_value(struct buf *b, const char *name, enum metric_kind kind, const char *help,
                   double v)
{
    metrics_head(b, name, kind, help);
    metrics_f64(b, name, NULL, v);
}

void metrics_by(struct buf *b, const char *name, const char *help, const char *label,
                const char *const *values, const uint64_t *v, size_t n)
{
    metrics_head(b, name, METRIC_COUNTER, help);
    for (size_t i = 0; i < n; i++)
        metrics_u64(b, name, (const char *const[]){ label, values[i], NULL }, v[i]);
}

/* le: of a bucket; NULL: none. */
static void histo_sample(struct buf *b, const char *name, const char *part, const char *const *labels, const char *le)
{
    const char *all[METRIC_LABELS_MAX + 2] = { NULL };
    char text[128];
    size_t n = 0;

    for (; labels != NULL && labels[n] != NULL; n++)
        all[n] = labels[n];
    if (le != NULL) {
        all[n] = "le";
        all[n + 1] = le;
    }
    snprintf(text, sizeof(text), "%s_%s", name, part);
    name_and_labels(b, text, all);
}

/* Bucket i counts times below 2^i us (they were cut to whole microseconds). */
static void histo_samples(struct buf *b, const char *name, const char *const *labels, const struct histo *h)
{
    uint64_t below = 0;
    char le[32];

    for (unsigned i = 0; i < HISTO_BUCKETS; i++) {
        bool last = i + 1 == HISTO_BUCKETS;

        below = last ? h->n : below + h->count[i];
        snprintf(le, sizeof(le), "%.15g", (double)((uint64_t)1 << i) / 1e6);
        histo_sample(b, name, "bucket", labels, last ? "+Inf" : le);
        buf_u64(b, below);
        buf_byte(b, '\n');
    }
    histo_sample(b, name, "sum", labels, NULL);
    number(b, (double)h->sum_us / 1e6);
    buf_byte(b, '\n');
    histo_sample(b, name, "count", labels, NULL);
    buf_u64(b, h->n);
    buf_byte(b, '\n');
}

void metrics_histo(struct buf *b, const char *name, const char *help, const struct histo *h)
{
    metrics_head(b, name, METRIC_HISTOGRAM, help);
    histo_samples(b, name, NULL, h);
}

/* base: the struct that has the row's member. */
static void row_sample(struct buf *b, const struct metric_row *r, const char *const *labels,
                       const void *base)
{
    const void *p = (const char *)base + r->offset;

    switch (r->form) {
    case METRIC_U64:
        metrics_u64(b, r->name, labels, *(const uint64_t *)p);
        break;
    case METRIC_U32:
        metrics_u64(b, r->name, labels, *(const uint32_t *)p);
        break;
    case METRIC_BOOL:
        metrics_u64(b, r->name, labels, *(const bool *)p);
        break;
    case METRIC_F64:
        metrics_f64(b, r->name, labels, *(const double *)p);
        break;
    case METRIC_MS:
        metrics_f64(b, r->name, labels, (double)*(const uint64_t *)p / 1000);
        break;
    case METRIC_HISTO:
        histo_samples(b, r->name, labels, p);
        break;
    }
}

void metrics_rows(struct buf *b, const struct metric_row *rows, size_t n, const void *base)
{
    for (size_t i = 0; i < n; i++) {
        metrics_head(b, rows[i].name, rows[i].kind, rows[i].help);
        row_sample(b, &rows[i], NULL, base);
    }
}

struct each_view {
    struct buf *b;
    const struct metric_row *row;
    metric_labels labels;
};

static void view_sample(void *ctx, const void *view)
{
    const struct each_view *x = ctx;
    const char *label[METRIC_LABELS_MAX] = { NULL };

    if (x->labels(view, label))
        row_sample(x->b, x->row, label, view);
}

void metrics_each(struct buf *b, const struct metric_row *rows, size_t n, metric_each each,
                  const void *of, metric_labels labels)
{
    for (size_t i = 0; i < n; i++) {
        struct each_view x = { b, &rows[i], labels };

        metrics_head(b, rows[i].name, rows[i].kind, rows[i].help);
        each(of, view_sample, &x);
    }
}
