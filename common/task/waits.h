/* waits.h: how long tasks waited, counted by powers of two of milliseconds: counts of many nodes add up, and a
 * quantile of their sum is one of all of them. Pure. */
#ifndef SEGQ_COMMON_TASK_WAITS_H
#define SEGQ_COMMON_TASK_WAITS_H

#include "common/base/base.h"

#define WAITS_BUCKETS 28 /* 0: under a millisecond; i: under 2^i ms; the last: all others */
#define WAITS_BYTES   (WAITS_BUCKETS * 10) /* packed */

struct waits {
    uint64_t n[WAITS_BUCKETS];
};

void waits_add(struct waits *w, msec_t ms);
void waits_join(struct waits *w, const struct waits *more);
/* Packs it; bytes, 0 where nothing is counted. */
size_t waits_pack(const struct waits *w, uint8_t out[WAITS_BYTES]);
/* False: these are no packed counts; then all are 0. */
SQ_CHECK bool waits_unpack(struct waits *w, const uint8_t *p, size_t n);
/* The wait in ms that a part q of them (0.5, 0.99) did not exceed; NAN: nothing is counted. */
double waits_quantile(const struct waits *w, double q);

#endif
