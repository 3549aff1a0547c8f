/* replay.h: records of the journal back into a table. */
#ifndef SEGQ_SEG_RESTORE_REPLAY_H
#define SEGQ_SEG_RESTORE_REPLAY_H

#include "segment/core/opts.h"

struct jrec;
struct segtab;

/* Into a new table, record by record, and then the end of it: deadlines begin anew, and
 * the table may be used. 0, SQ_ENOMEM, or SQ_EPROTO: this record cannot follow those
 * before it; then the table is good for segtab_free() only. */
SQ_CHECK int segtab_replay(struct segtab *t, const struct jrec *r);
/* The first one ends the snapshot itself, the second what was said while it was taken. */
int replay_snap_end(struct segtab *t);

#endif
