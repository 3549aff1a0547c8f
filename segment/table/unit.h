/* unit.h: the unit of a segment's idle deadlines, which are one byte each. */
#ifndef SEGQ_SEG_TABLE_UNIT_H
#define SEGQ_SEG_TABLE_UNIT_H

#include "segment/table/state.h"

static inline uint8_t segtab_unit(const struct segtab *t, const struct seg *g)
{
    return (uint8_t)(uint64_t)((double)t->service_ms * g->per_unit);
}

/* After rules or pace changed: idle time and told interval must fit into a byte of units. */
void segtab_fit_unit(struct segtab *t, struct seg *g);

#endif
