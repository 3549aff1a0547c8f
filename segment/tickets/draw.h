/* draw.h: the draw of a segment of early tickets. */
#ifndef SEGQ_SEG_TICKETS_DRAW_H
#define SEGQ_SEG_TICKETS_DRAW_H

#include "segment/core/state.h"

/* Gives its people their places; why not is logged. */
void segtab_draw(struct segtab *t, struct seg *g, const struct seg_draw *d);
/* Restores an earlier draw: only the numbers in tokens are not the slots. n 0: nothing. */
SQ_CHECK int segtab_draw_was(struct segtab *t, struct seg *g, const struct seg_draw *d);
SQ_CHECK int segtab_draw_now(struct seg *g, const struct seg_draw *d);

#endif
