/* timeouts.h: places that are not polled, claim windows, passes and records end by time.
 *
 * Nobody times out for a while in segments that are spared: a router may have told their people
 * to come again, in answers of its own, of which this node will never hear. Until then each of
 * them was due to poll again, and the silent are silent a little longer. */
#ifndef SEGQ_SEG_TICKETS_TIMEOUTS_H
#define SEGQ_SEG_TICKETS_TIMEOUTS_H

#include "segment/core/state.h"

/* A released ticket has no place any more; the reason is known for SEGTAB_OVER_MS. */
void segtab_over(struct segtab *t, struct seg *g, struct session *x, int reason);
/* Each segment where somebody waits or was released; sweeps take turns, a segment that was not
 * finished is the first of the next tick. */
void segtab_lapse(struct segtab *t);

static inline bool segtab_is_spared(const struct segtab *t, const struct seg *g)
{
    return t->service_ms < g->spared_until_ms;
}

/* Spares it from now on for the longest interval that anybody is told in it; telling may go on for
 * more_ms. */
static inline void segtab_spare(const struct segtab *t, struct seg *g, msec_t more_ms)
{
    uint32_t told = pace_longest_ms(&g->queue->pace[g->lane]);

    told = told < g->told_max_ms ? told : g->told_max_ms;
    g->spared_until_ms = ms_max(g->spared_until_ms, t->service_ms + told + SEEN_LATE_MS + more_ms);
}

#endif
