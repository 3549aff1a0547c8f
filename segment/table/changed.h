/* changed.h: what a change of a segment or a ticket entails: a report, a place among the
 * segments that each tick visits, a copy that follows. */
#ifndef SEGQ_SEG_TABLE_CHANGED_H
#define SEGQ_SEG_TABLE_CHANGED_H

#include "segment/table/state.h"

/* It has changed: it is settled, and reported to the manager. */
void segtab_touch(struct segtab *t, struct seg *g);
/* It has waiting or released tickets: each tick visits it. */
void segtab_wake(struct segtab *t, struct seg *g);
/* The ticket left the line: its name is free again, a copy of it must follow. */
void segtab_died(struct seg *g, uint32_t slot);

#endif
