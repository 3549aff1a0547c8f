/* snapshot.h: writes the whole state beside service, so that older logs can go.
 *
 *   begin   end mark in log-N, log-N+1 with a synced head   crash: old snapshot, N, N+1
 *   put     snap-N+1.tmp grows                              crash: the same
 *   commit  sync, rename, sync the folder                   crash: the same, or the new one
 *           remove snap-N, log-N and older                  crash: the new one, and rubbish
 *                                                           that nobody reads
 * After a failed write or sync log-N is left as it is, and log-N+1 is marked FRESH: until
 * snap-N+1 is there nothing in it was acknowledged, so recovery throws it away. */
#ifndef SEGQ_JOURNAL_SNAPSHOT_H
#define SEGQ_JOURNAL_SNAPSHOT_H

#include "common/journal/journal.h"

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

#endif
