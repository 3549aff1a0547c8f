/* region.h: the region in which most people join: new segments go there. Pure.
 *
 * It changes with a clear majority that lasts, so that two regions alike do not take turns: another
 * one has half as many joins more for REGION_HOLD_MS, without a second in which it has not. Nobody is
 * moved: only what is opened from then on is there. */
#ifndef SEGQ_REGION_H
#define SEGQ_REGION_H

#include "common/base/base.h"

#define REGION_HOLD_MS  30000
#define REGION_LEAST    1.0 /* joins a second of all: with less nobody is the most */
#define REGION_PERCENT  25  /* a node elsewhere counts as so much fuller */
#define REGIONS_MAX  16  /* further ones are not looked at */

struct region_joins { /* joins of the routers of a region */
    const char *region;
    double per_s;
};

struct region_choice { /* zero: no region */
    char region[NAME_MAX_LEN + 1], rival[NAME_MAX_LEN + 1];
    msec_t since_ms; /* since when the rival has more */
};

/* Adds a router's joins to its region's; "" is none. */
void region_add(struct region_joins *v, unsigned *n, const char *region, double per_s);
/* Once a second; true: the region has changed. */
bool region_second(struct region_choice *x, const struct region_joins *v, unsigned n, msec_t now_ms);

#endif
