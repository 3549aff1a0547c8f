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

/* ---- a page, line by line --------------------------------------------------------------
 *
 *   name{label="value",...} value [timestamp in ms]
 *
 * Lines that are not about the wanted name are not looked into. */

#define LABELS_MAX 32 /* bits of labels() */

struct line {
    const char *p, *end;
};

static void blanks(struct line *l)
{
    while (l->p < l->end && (*l->p == ' ' || *l->p == '\t'))
        l->p++;
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == ':';
}

static bool takes(struct line *l, char c)
{
    if (l->p >= l->end || *l->p != c)
        return false;
    l->p++;
    return true;
}

/* A quoted value: compares it with `want` while unescaping. False: not well formed. */
static bool quoted(struct line *l, const char *want, bool *same)
{
    *same = true;
    if (!takes(l, '"'))
        return false;
    while (l->p < l->end && *l->p != '"') {
        char c = *l->p++;

        if (c == '\\') {
            if (l->p >= l->end)
                return false;
            c = *l->p++;
            c = c == 'n' ? '\n' : c;
        }
        if (*same && want != NULL && *want == c && c != 0)
            want++;
        else
            *same = false;
    }
    *same = *same && want != NULL && *want == 0;
    return takes(l, '"');
}

static const struct sample_label *wanted(const struct sample_want *w, const char *p, size_t n,
                                      size_t *index)
{
    for (size_t i = 0; i < w->n_labels; i++)
        if (strlen(w->labels[i].name) == n && memcmp(w->labels[i].name, p, n) == 0) {
            *index = i;
            return &w->labels[i];
        }
    return NULL;
}

/* {a="b",...}: *match if all wanted labels are there with their values. */
static bool labels(struct line *l, const struct sample_want *w, bool *match)
{
    uint32_t found = 0; /* a bit per label */

    assert(w->n_labels <= LABELS_MAX);
    for (blanks(l); !takes(l, '}'); blanks(l)) {
        const struct sample_label *want;
        const char *p = l->p;
        size_t i = 0;
        bool same;

        while (l->p < l->end && is_name(*l->p))
            l->p++;
        want = wanted(w, p, (size_t)(l->p - p), &i);
        if (l->p == p)
            return false;
        blanks(l);
        if (!takes(l, '='))
            return false;
        blanks(l);
        if (!quoted(l, want != NULL ? want->value : NULL, &same))
            return false;
        if (want != NULL && same)
            found |= 1u << i;
        blanks(l);
        if (!takes(l, ',') && (l->p >= l->end || *l->p != '}'))
            return false;
    }
    *match = found == (w->n_labels == 0 ? 0 : UINT32_MAX >> (32 - w->n_labels));
    return true;
}

/* Reads a word of digits (or NaN, +Inf) into a number. */
static bool read_number(struct line *l, double *v)
{
    char text[64], *end;
    size_t n = 0;

    blanks(l);
    while (l->p < l->end && *l->p != ' ' && *l->p != '\t' && *l->p != '\r') {
        if (n + 1 == sizeof(text))
            return false;
        text[n++] = *l->p++;
    }
    text[n] = 0;
    if (n == 0 || strlen(text) != n)
        return false;
    *v = strtod(text, &end);
    return *end == 0;
}

/* 1: a wanted sample; 0: not about it; -1: malformed */
static int sample(struct line l, const struct sample_want *w, struct sample_value *s)
{
    size_t n = strlen(w->name);
    bool match = w->n_labels == 0;
    double when = 0;

    blanks(&l);
    if ((size_t)(l.end - l.p) <= n || memcmp(l.p, w->name, n) != 0 || is_name(l.p[n]))
        return 0;
    l.p += n;
    blanks(&l);
    if (takes(&l, '{') && !labels(&l, w, &match))
        return -1;
    if (!match)
        return 0;
    if (!read_number(&l, &s->value))
        return -1;
    blanks(&l);
    if (l.p < l.end && *l.p != '\r' && !read_number(&l, &when))
        return -1;
    if (!(when >= 0 && when < 1e14))
        return -1;
    s->wall_ms = (int64_t)when;
    return 1;
}

static void take(struct sample_value *sum, const struct sample_value *s, bool max, size_t n)
{
    if (n == 0) {
        *sum = *s;
        return;
    }
    if (!max)
        sum->value += s->value;
    else if (!(s->value <= sum->value)) /* NaN wins, and is refused later */
        sum->value = s->value;
    if (s->wall_ms < sum->wall_ms)
        sum->wall_ms = s->wall_ms; /* age of the oldest */
}

int sample_page_read(struct sample_value *out, const struct sample_want *w, const char *text,
                   size_t n, struct err *e)
{
    const char *end = text + n;
    size_t found = 0, line_no = 0;
    struct sample_value s;

    if (w->n_labels > LABELS_MAX)
        return err_set(e, SQ_EINVAL, "too many labels");
    for (const char *p = text; p < end;) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        struct line l = { p, nl != NULL ? nl : end };
        int rc = *p == '#' ? 0 : sample(l, w, &s);

        line_no++;
        if (rc < 0)
            return err_set(e, SQ_EINVAL, "page line %zu is malformed", line_no);
        if (rc > 0)
            take(out, &s, w->max, found++);
        p = nl != NULL ? nl + 1 : end;
    }
    if (found == 0)
        return err_set(e, SQ_EUNKNOWN, "page has no %.64s with these labels", w->name);
    if (!isfinite(out->value))
        return err_set(e, SQ_EINVAL, "%.64s is %g", w->name, out->value);
    return 0;
}

int sample_labels(char *text, struct sample_label *v, size_t cap, struct err *e)
{
    size_t n = 0;

    while (*text != 0) {
        char *eq = strchr(text, '='), *comma;

        if (eq == NULL || eq == text)
            return err_set(e, SQ_EINVAL, "labels: name=value,name=value is wanted");
        if (n == cap)
            return err_set(e, SQ_EINVAL, "labels: at most %zu", cap);
        *eq = 0;
        comma = strchr(eq + 1, ',');
        if (comma != NULL)
            *comma = 0;
        v[n++] = (struct sample_label){ text, eq + 1 };
        text = comma != NULL ? comma + 1 : eq + 1 + strlen(eq + 1);
    }
    assert(n <= cap);
    return (int)n;
}
