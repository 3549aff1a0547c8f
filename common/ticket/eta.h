/* eta.h: how long it still takes: from a place in line to seconds. Pure.
 *
 * People are let in at a rate, and each of those before one gives up with a probability per
 * second: p(t) falls by per_s + leave * p(t), so it is 0 after ln(1 + leave p / per_s) / leave.
 * A place further back never has the shorter time. */
#ifndef SEGQ_ETA_H
#define SEGQ_ETA_H

#include "common/base/base.h"

#define ETA_PPM 1000000.0

/* leave: share of the waiting that gives up, per second. -1: it does not end (per_s 0). */
double eta_seconds(double per_s, double leave, uint64_t position);
/* The same as it is told: rounded up; -1 also where it is more than 68 years. */
int64_t eta_whole_s(double per_s, double leave, uint64_t position);
/* Arguments of the above, from the figures of STATS. */
static inline double eta_per_s(uint64_t milli_per_s)
{
    return (double)milli_per_s / 1000;
}
static inline double eta_leave(uint64_t ppm)
{
    return (double)ppm / ETA_PPM;
}

/* Why the time is another one than was told before, or is not known. */
enum eta_reason {
    ETA_AS_TOLD = 0,
    ETA_SLOWER,  /* fewer are let in than when it was told */
    ETA_FASTER,
    ETA_PAUSED,  /* by the operator */
    ETA_STOPPED, /* no entry now: see limited_by */
    ETA_STAY,    /* slots are full, and nobody leaves: as if each stays as long as a session may last */
    ETA_NREASONS
};
const char *eta_reason_name(unsigned reason); /* NULL: as told, or of a later version */

#endif
