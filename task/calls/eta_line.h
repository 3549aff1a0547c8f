/* eta_line.h: estimates of the wait along a line, in the words of an operator's own service. Pure.
 *
 * JSON, of us and of the service alike, so that an echo of our question means our own estimate:
 *
 *   {"places": [{"place": 1, "eta_s": 2}, {"place": 100, "eta_s": 240.5}]}
 *
 * Points at places that rise, with waits that do not fall. Between two of them the wait grows evenly; before
 * the first it does from nothing at place 0; behind the last as fast as between the two before. Other members
 * are passed over. */
#ifndef SEGQ_CALLS_ETA_LINE_H
#define SEGQ_CALLS_ETA_LINE_H

#include "common/base/buf.h"

#define ETA_POINTS_MAX 32
#define ETA_PLACE_MAX  1000000000
#define ETA_MOST_MS    (400ll * 86400000)

struct eta_line { /* n 0: nothing is known */
    unsigned n;
    struct eta_point {
        int64_t place, ms;
    } v[ETA_POINTS_MAX];
};

/* NULL, or what is wrong; *l is unchanged then. */
const char *eta_line_read(struct eta_line *l, const char *p, size_t n);
/* The wait of this place, in ms; place at least 1, n at least 1. */
int64_t eta_line_at(const struct eta_line *l, uint64_t place);

struct eta_question {
    const char *queue;
    uint64_t waiting, running;
    uint64_t place; /* starts of its queue until that of a task which comes now, without a key */
    int64_t ms;     /* wait of that, as we reckon it; -1: not known */
};
void eta_question_write(const struct eta_question *q, struct buf *b);

#endif
