/* adaptive.h: how many calls the target bears at once, found out from how it answers. Pure.
 *
 * Gradient2 (Netflix, concurrency-limits): what calls take now against what they take in the long
 * run. While they take less than 1.5 times as long the limit rises by up to one a window, beyond
 * that it falls, to 0.9 of itself at most. A window is ten answers, and as long as one takes at
 * least. The limit stays while it is not what binds: less than half of it is under way. A time-out,
 * a connection that cannot be made, 429 and 503 make it 0.9 of itself, once in the time of an
 * answer. It begins at its least. */
#ifndef SEGQ_CALLS_ADAPTIVE_H
#define SEGQ_CALLS_ADAPTIVE_H

#include "common/base/base.h"

struct adaptive { /* zero: nothing is known */
    double limit;     /* 0: not begun */
    double long_ms;   /* time of an answer, in the long run; 0: none yet */
    double sum_ms;    /* sum over this window, */
    uint32_t n;       /* number of its answers, */
    msec_t since;     /* which began then */
    msec_t cut_at;    /* when it was made less; 0: never */
};

struct adaptive_rules {
    uint64_t min, max; /* min 1 .. max */
};

/* Returns the limit of now, between the two. */
uint64_t adaptive_limit(const struct adaptive *a, const struct adaptive_rules *r);
/* An answer that says that the target is well, after ms; in_flight: calls, with this one. */
void adaptive_well(struct adaptive *a, const struct adaptive_rules *r, uint32_t ms, uint64_t in_flight,
                   msec_t now);
/* Lowers it: the target has too much to do. */
void adaptive_too_much(struct adaptive *a, const struct adaptive_rules *r, msec_t now);

#endif
