/* tail.h: the end of a log in recovery: is what follows its last group torn, or damaged? The
 * torn part is cut off and kept aside, the rest is made sure of and gets its end mark. */
#ifndef SEGQ_JOURNAL_TAIL_H
#define SEGQ_JOURNAL_TAIL_H

#include "common/journal/walk.h"

/* 0: what follows the last group may be cut off (torn bytes are kept as log-N.torn); goes on
 * behind damage if that is allowed. < 0: damaged or unreadable. last: only this log may be
 * torn. */
SQ_CHECK int jtail_read(struct jreplay *r, struct jwalk *w, uint64_t seq, bool last,
                        struct err *e);
/* Cuts the log behind its last group, syncs the rest, and gives it its end mark. */
SQ_CHECK int jtail_close(struct jreplay *r, uint64_t seq, struct jwalk *w, struct err *e);

#endif
