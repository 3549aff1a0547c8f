/* metrics_page.h: one value of a /metrics page (Prometheus text exposition), by name and labels.
 * Pure: text in, numbers out. Each failure is a sentence in *e: it is shown to operators. */
#ifndef SEGQ_METRICS_PAGE_H
#define SEGQ_METRICS_PAGE_H

#include "queuemng/monitor/prometheus_api.h"

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
