/* replay.h: records of the journal back into a table. */
#ifndef SEGQ_SEG_RESTORE_REPLAY_H
#define SEGQ_SEG_RESTORE_REPLAY_H

#include "segment/core/opts.h"

struct jrec;
struct segtab;

/* Into a new table, record by record. 0, SQ_ENOMEM, or SQ_EPROTO: this record cannot follow those
 * before it; then the table is good for segtab_free() only. */
SQ_CHECK int segtab_replay(struct segtab *t, const struct jrec *r);
/* After the last record: the clocks begin anew, and what was half done ends; the table may be
 * used. */
SQ_CHECK int segtab_replayed(struct segtab *t, struct seg_now now);
/* After that: the last joins may be missing. Nobody joins what is open any more, or a number
 * that was given once would be given again, and two people had one place. */
void segtab_seal_all(struct segtab *t);

#endif
