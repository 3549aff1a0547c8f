/* suspecting.h: what a router tells its table of suspects (router/gate/suspects.h). Shell: the
 * queue's rules, the client of the request at hand, clocks. */
#ifndef SEGQ_ROUTER_STATE_SUSPECTING_H
#define SEGQ_ROUTER_STATE_SUSPECTING_H

#include "router/state/router.h"

/* False: nobody is counted: the queue looks for none, or the client is not known. */
SQ_CHECK bool suspecting_of(const struct route_queue *q, limit_id client, struct suspect_of *of);
/* A join has got a new place. client: as it was when that was asked for. */
void suspecting_placed(struct router *r, limit_id client, const struct flow *f);
/* Somebody says something of a ticket; polls: asks for its place. Cheap while no queue looks for suspects. */
void suspecting_heard_of(struct router *r, const struct token *t, bool polls);
static inline void suspecting_heard(struct router *r, const struct token *t, bool polls)
{
    if (SQ_UNLIKELY(r->suspects != NULL))
        suspecting_heard_of(r, t, polls);
}

#endif
