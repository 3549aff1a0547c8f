/* near.h: the region in which most people join: new segments go there. Pure.
 *
 * It changes with a clear majority that lasts, so that two regions alike do not take turns: another
 * one has half as many joins more for NEAR_HOLD_MS, without a second in which it has not. Nobody is
 * moved: only what is opened from then on is there. */
#ifndef SEGQ_NEAR_H
#define SEGQ_NEAR_H

#include "common/base/base.h"

#define NEAR_HOLD_MS  30000
#define NEAR_LEAST    1.0 /* joins a second of all: with less nobody is the most */
#define NEAR_PERCENT  25  /* a node elsewhere counts as so much fuller */
#define NEAR_REGIONS  16  /* further ones are not looked at */

struct near_sum { /* joins of the routers of a region */
    const char *region;
    double per_s;
};

struct near { /* zero: no region */
    char region[NAME_MAX_LEN + 1], rival[NAME_MAX_LEN + 1];
    msec_t since_ms; /* since when the rival has more */
};

/* Adds a router's joins to its region's; "" is none. */
void near_add(struct near_sum *v, unsigned *n, const char *region, double per_s);
/* Once a second; true: the region has changed. */
bool near_second(struct near *x, const struct near_sum *v, unsigned n, msec_t now_ms);

#endif
