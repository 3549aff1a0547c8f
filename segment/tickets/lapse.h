/* lapse.h: places that are not polled, claim windows, passes and records end by time. */
#ifndef SEGQ_SEG_TICKETS_LAPSE_H
#define SEGQ_SEG_TICKETS_LAPSE_H

#include "segment/core/state.h"

/* A released ticket has no place any more; the reason is known for SEGTAB_OVER_MS. */
void segtab_over(struct segtab *t, struct seg *g, struct session *x, int reason);
/* Each segment where somebody waits or was released; sweeps take turns, a segment that was not
 * finished is the first of the next tick. */
void segtab_lapse(struct segtab *t);

#endif
