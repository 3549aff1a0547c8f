/* sample_page.h: one value of a /metrics page (Prometheus text exposition), by name and labels. Pure: text in,
 * a number out. Each failure is a sentence in *e: it is shown to operators. */
#ifndef SEGQ_SAMPLE_PAGE_H
#define SEGQ_SAMPLE_PAGE_H

#include "common/base/err.h"

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
