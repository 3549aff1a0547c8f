/* draw.h: the draw of a segment of early tickets. */
#ifndef SEGQ_SEG_TICKETS_DRAW_H
#define SEGQ_SEG_TICKETS_DRAW_H

#include "segment/core/state.h"

/* Gives its people their places; why not is logged. */
void segtab_draw(struct segtab *t, struct seg *g, const struct seg_draw *d);
/* Restores an earlier draw: only the numbers in tokens are not the slots. n 0: nothing. */
SQ_CHECK int segtab_draw_was(struct segtab *t, struct seg *g, const struct seg_draw *d);
SQ_CHECK int segtab_draw_now(struct seg *g, const struct seg_draw *d);

/* Slot p of a line gets the contents of slot number[p], for all slots and those that are added to
 * make n > 0. The line is sealed and not under rebuild. Or SQ_ENOMEM, and nothing has changed. */
SQ_CHECK int segq_permute(struct segq *q, uint32_t n, const uint32_t *number);

#endif
