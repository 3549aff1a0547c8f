/* restart.h: after the replay: the clocks begin anew, and what was half done ends. */
#ifndef SEGQ_SEG_RESTORE_RESTART_H
#define SEGQ_SEG_RESTORE_RESTART_H

#include "segment/core/opts.h"

struct segtab;

SQ_CHECK int segtab_replayed(struct segtab *t, struct seg_now now);
/* After that: the last joins may be missing. Nobody joins what is open any more, or a number
 * that was given once would be given again, and two people had one place. */
void segtab_seal_all(struct segtab *t);

#endif
