/* check.h: what a cluster must never do, judged from outside. Pure. */
#ifndef SEGQ_SWARM_CHECK_H
#define SEGQ_SWARM_CHECK_H

#include "common/base/base.h"

struct check_rec { /* an admitted player */
    int64_t released_ms; /* as the ticket says */
    int64_t sent_us;     /* the earliest moment at which its join may have happened */
    int64_t done_us;     /* its answer was here: it had certainly happened */
    uint32_t who;
    bool exempt;         /* stayed away over its turn: its own release may be a later one */
};

struct check_order {
    uint64_t violations;    /* players released before somebody who had joined before */
    uint32_t early, late;   /* one such pair, if there is any */
};

/* A's join was answered before B's was sent, so A is ahead of B, and must not have a later
 * release. Sorts v by release. O(n log n). */
struct check_order check_order(struct check_rec *v, size_t n);

/* How many of the numbers occurred before in the list. Sorts v. */
uint64_t check_repeats(uint64_t *v, size_t n);

/* The even part of a run of releases: without the first moment, which ends no known span,
 * and the last one, at which the line may have run dry. */
struct check_steady {
    uint64_t released;
    int64_t span_ms;  /* 0: fewer than three moments */
    uint64_t moments; /* at which something was released */
};
/* Needs v sorted by release. */
struct check_steady check_steady(const struct check_rec *v, size_t n);

/* Most releases in any window of that length. Needs v sorted by release. */
uint64_t check_peak(const struct check_rec *v, size_t n, int64_t window_ms);

#endif
