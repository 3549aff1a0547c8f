/* spare.h: segments in which nobody times out for a while: a router may have told their people to
 * come again, in answers of its own, of which this node will never hear. Until then each of them
 * was due to poll again, and the silent are silent a little longer. */
#ifndef SEGQ_SEG_TICKETS_SPARE_H
#define SEGQ_SEG_TICKETS_SPARE_H

#include "segment/core/state.h"

static inline bool segtab_is_spared(const struct segtab *t, const struct seg *g)
{
    return t->service_ms < g->spared_until_ms;
}

/* From now on for the longest interval that anybody is told in it; telling may go on for more_ms. */
static inline void segtab_spare(const struct segtab *t, struct seg *g, msec_t more_ms)
{
    uint32_t told = pace_longest_ms(&g->queue->pace[g->lane]);

    told = told < g->told_max_ms ? told : g->told_max_ms;
    g->spared_until_ms = ms_max(g->spared_until_ms, t->service_ms + told + SEEN_LATE_MS + more_ms);
}

#endif
