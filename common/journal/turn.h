/* turn.h: what a user of a journal does in service: each turn records are put, written as one group,
 * and synced; by ticks a snapshot of the whole state is written beside service, so that older logs
 * can go. journal.h says what a flush that answers 0 means, and what one that fails.
 *
 * A snapshot:
 *   begin   end mark in log-N, log-N+1 with a synced head   crash: old snapshot, N, N+1
 *   put     snap-N+1.tmp grows                              crash: the same
 *   commit  sync, rename, sync the folder                   crash: the same, or the new one
 *           remove snap-N, log-N and older                  crash: the new one, and rubbish
 *                                                           that nobody reads
 * After a failed write or sync log-N is left as it is, and log-N+1 is marked FRESH: until
 * snap-N+1 is there nothing in it was acknowledged, so recovery throws it away. */
#ifndef SEGQ_JOURNAL_TURN_H
#define SEGQ_JOURNAL_TURN_H

#include "common/journal/journal.h"

/* Room for n bytes in the turn's group, to be filled before the next call. Never fails:
 * without memory the journal fails as by a failed write. type: the caller's, 0..255. */
void *journal_put(struct journal *j, uint8_t type, size_t n);
void journal_append(struct journal *j, uint8_t type, const void *p, size_t n);
/* Room on the disk for n more bytes (sum of JOURNAL_COST) beyond what is promised already;
 * then they are promised until given back. Records do not use up a promise: promise for
 * each live thing (a ticket) the most that it can still cost, and give it back when the
 * thing is gone. False: nothing is promised, refuse the work. OFF: always true. */
SQ_CHECK bool journal_reserve(struct journal *j, uint64_t n);
void journal_give_back(struct journal *j, uint64_t n);
/* Before the answers of the turn go out. 0: all that was appended may be acknowledged.
 * SQ_EFULL, SQ_ESYS: journal.h, failures. Costs nothing in a turn without records. */
SQ_CHECK int journal_flush(struct journal *j, struct err *e);
/* At least every 100 ms; syncs in mode `os`. 0 or SQ_ESYS. */
SQ_CHECK int journal_tick(struct journal *j, msec_t now_ms, struct err *e);
/* Amid a turn: writes the records so far as a group of their own, so that a huge turn takes little memory.
 * A replay may end behind it: the caller's records say what is worth nothing without those that follow.
 * < 0: journal_flush() would have failed; the turn cannot be whole any more: give it up (journal_again). */
SQ_CHECK int journal_piece(struct journal *j, struct err *e);
/* Bytes of the turn's records that are not written. */
size_t journal_pending(const struct journal *j);
bool journal_ok(const struct journal *j); /* false: failed, only a snapshot mends it */

/* ---- snapshots ---- */

/* Log grown, or failed; false while one is being written, and 5 s after one failed. */
bool journal_snap_due(const struct journal *j);
/* Flushes, then starts a new log: call it between turns. What is put until the commit
 * must describe the state at this very moment, or records after it must be harmless when
 * they meet a state that knows them already. < 0: no snapshot begun. */
SQ_CHECK int journal_snap_begin(struct journal *j, struct err *e);
/* n <= JOURNAL_RECORD_MAX; written when a quarter of a MiB has come together. < 0: abort. */
SQ_CHECK int journal_snap_put(struct journal *j, const void *p, size_t n, struct err *e);
/* Syncs, renames, then removes what it replaces. < 0: aborted already, the old files count. */
SQ_CHECK int journal_snap_commit(struct journal *j, struct err *e);
void journal_snap_abort(struct journal *j);
bool journal_snap_running(const struct journal *j);

/* ---- for the other files of this room ---------------------------------------------- */
/* Flushes and syncs, then writes and syncs the end mark: all before it is on the disk, and
 * the next start may rely on it. */
SQ_CHECK int journal_end_log(struct journal *j, struct err *e);

#endif
