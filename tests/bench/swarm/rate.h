/* rate.h: what the cluster allows: asks once a second and adds up. Shell over conns.h.
 * The rate before lack of waiters, added up over time: queuemng's allowed_per_s if there
 * is an admin port, else what routers show; and queuemng's own count of what it granted. */
#ifndef SEGQ_SWARM_RATE_H
#define SEGQ_SWARM_RATE_H

#include "common/net/ev.h"
#include "tests/bench/swarm/opts.h"

struct rate;

struct rate_view {
    bool known;
    double per_s;        /* last reading */
    double max_per_s;    /* highest reading */
    double allowed;      /* people, since the first reading */
    int64_t granted;     /* the same, as the manager counted it; -1: not known */
    double seconds;      /* over which `allowed` was added up */
    char limited_by[64];
    const char *source;
};

SQ_CHECK int rate_new(struct rate **out, struct ev *ev, const struct opts *o, struct err *e);
void rate_free(struct rate *r);
const struct rate_view *rate_view(const struct rate *r);

#endif
