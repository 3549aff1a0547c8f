/* changed.h: what a change of a segment or a ticket entails: a report, a place among the
 * segments that each tick visits, a copy and the routers' replica, which follow. */
#ifndef SEGQ_SEG_TABLE_CHANGED_H
#define SEGQ_SEG_TABLE_CHANGED_H

#include "segment/table/state.h"

/* Notes a change: the segment is settled, and reported to the manager. */
void segtab_touch(struct segtab *t, struct seg *g);
/* Makes each tick visit it: it has waiting or released tickets. */
void segtab_wake(struct segtab *t, struct seg *g);
void segtab_note_died(struct said_seg *s, uint32_t slot); /* for the next push */
/* The ticket left the line: a copy of it and the routers' replica must follow. */
static inline void segtab_died(struct seg *g, uint32_t slot)
{
    if (g->out != NULL)
        xfer_out_touch(&g->out->out, slot);
    if (g->tab->replica.n_listeners > 0)
        segtab_note_died(&g->said, slot);
}

#endif
