/* recover.h: replays a folder: the newest snapshot, then the logs behind it. What may be
 * found, and what is done about it:
 *
 *   snap-N and log-N, log-N+1 ... each ended by its end mark   replayed
 *   the last of them without one                      cut at its last whole group, closed
 *   logs with a head and no group behind them         replayed as nothing
 *   the newest log without a whole head               not born yet: its number is used again
 *   a FRESH log whose snapshot is missing             void, with all that follow it: removed
 *   files older than snap-N, *.tmp                    rubbish; never read
 *   a number missing, no end mark before a log that goes on, a snapshot that is not whole,
 *   bad bytes that were synced once                   damage: refused, or skipped if allowed
 *
 * What follows the last group of a log is torn, or damaged: a torn part is cut off and kept aside,
 * the rest is made sure of and gets its end mark.
 * Recovery that is killed at any step may be begun again. */
#ifndef SEGQ_JOURNAL_RECOVER_H
#define SEGQ_JOURNAL_RECOVER_H

#include "common/journal/journal.h"
#include "common/journal/reader.h"

/* Replays, closes what it read, removes what is void. *next: the log to create. */
SQ_CHECK int journal_recover(struct journal *j, const struct journal_replay *r,
                             bool allow_damage, uint64_t *next, struct err *e);
/* In service: the snapshot and the logs behind it, up to j->kept in the newest; writes
 * nothing. */
SQ_CHECK int journal_reread(struct journal *j, const struct journal_replay *r, struct err *e);

#endif
