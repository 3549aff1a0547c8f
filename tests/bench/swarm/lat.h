/* lat.h: latencies, 1 us to hours, 1.6 % exact, in constant memory. Pure.
 *
 * Coordinated omission: a client that waits for a slow answer sends its next request later
 * than planned, and so never measures what that one would have waited. Here every request
 * has a planned time (the arrival's, or the poll's due time), and the corrected latency
 * counts from there, queueing for a free connection included. */
#ifndef SEGQ_SWARM_LAT_H
#define SEGQ_SWARM_LAT_H

#include "common/base/base.h"

#define LAT_BUCKETS 2048

struct lat {
    uint64_t count[LAT_BUCKETS];
    uint64_t n, sum_us, max_us;
};

struct lat_pair {
    struct lat raw;       /* from the request's sending */
    struct lat corrected; /* from its planned time */
};

void lat_add(struct lat *l, uint64_t us);
/* The latency that a share q (0.99) stayed at or below; 0 without any. */
uint64_t lat_at(const struct lat *l, double q);
uint64_t lat_top(unsigned bucket); /* the largest latency in it; UINT64_MAX: the last */
double lat_mean(const struct lat *l);
/* Microseconds on one clock; a plan later than the sending counts as sent on time. */
void lat_pair_add(struct lat_pair *p, int64_t planned_us, int64_t sent_us, int64_t done_us);

#endif
