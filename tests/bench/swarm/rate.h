/* rate.h: what the cluster allows: asks once a second and adds up. Shell over conns.h.
 * With an admin port it is queuemng's own count of granted releases; without one, the
 * release_per_s that routers show, added up over time. */
#ifndef SEGQ_SWARM_RATE_H
#define SEGQ_SWARM_RATE_H

#include "common/ev.h"
#include "tests/bench/swarm/opts.h"

struct rate;

struct rate_view {
    bool known;
    double per_s;        /* last reading */
    double max_per_s;    /* highest reading */
    double allowed;      /* people, since the first reading */
    double seconds;      /* over which `allowed` was added up */
    char limited_by[64];
    const char *source;
};

SQ_CHECK int rate_new(struct rate **out, struct ev *ev, const struct opts *o, struct err *e);
void rate_free(struct rate *r);
const struct rate_view *rate_view(const struct rate *r);

#endif
