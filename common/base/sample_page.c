/* sample_page.c: a page, line by line. Pure.
 *   name{label="value",...} value [timestamp in ms]
 * Lines that are not about the wanted name are not looked into. */
#include "common/base/sample_page.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
static bool number(struct line *l, double *v)
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
    if (!number(&l, &s->value))
        return -1;
    blanks(&l);
    if (l.p < l.end && *l.p != '\r' && !number(&l, &when))
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
