/* segq_draw.h: the line of a segment of early tickets gets the order that was drawn. Pure. */
#ifndef SEGQ_SEGQ_DRAW_H
#define SEGQ_SEGQ_DRAW_H

#include "segment/line/segq.h"

/* Slot p gets the contents of slot number[p], for all slots and those that are added to make n.
 * The line is sealed and not under rebuild. Or SQ_ENOMEM, and nothing has changed. n > 0. */
SQ_CHECK int segq_permute(struct segq *q, uint32_t n, const uint32_t *number);

#endif
