/* turn.h: one turn of a journal: records are put, written as one group, and synced.
 * journal.h says what a flush that answers 0 means, and what one that fails. */
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
bool journal_ok(const struct journal *j); /* false: failed, only a snapshot mends it */

/* ---- for the other files of this room ---------------------------------------------- */
/* The log is not believed any more; `what` is said in the process's log. */
void journal_fail(struct journal *j, const char *what);
/* Flushes and syncs, then writes and syncs the end mark: all before it is on the disk, and
 * the next start may rely on it. */
SQ_CHECK int journal_end_log(struct journal *j, struct err *e);

#endif
