/* closing.h: a segment of early tickets closes at its time: later joins do not draw. */
#ifndef SEGQ_SEG_TABLE_CLOSING_H
#define SEGQ_SEG_TABLE_CLOSING_H

#include "segment/table/state.h"

/* An early one closes by itself at this time of our wall clock; 0: by order alone. */
void segtab_close_at(struct segtab *t, struct seg *g, int64_t closes_ms);
void segtab_close_due(struct segtab *t); /* closes segments whose time has come: nobody joins any more */

#endif
