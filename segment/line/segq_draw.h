/* segq_draw.h: the line of a segment of early tickets gets the order that was drawn. Pure. */
#ifndef SEGQ_SEGQ_DRAW_H
#define SEGQ_SEGQ_DRAW_H

#include "segment/line/segq.h"

/* Of a sealed one that is not being rebuilt: slot p gets what was in slot number[p], for all of its
 * slots, and those that are added to make n. Or SQ_ENOMEM, and nothing has changed. n > 0. */
SQ_CHECK int segq_permute(struct segq *q, uint32_t n, const uint32_t *number);

#endif
