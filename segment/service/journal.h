/* journal.h: a segment node's journal: segtab's changes into journal.h's files, and
 * back. Shell.
 *
 *   segtab --record--> journal --flush at the turn's end--> answers may go out
 *   tick: promises, sync, a slice of the snapshot that is being written
 *
 * When a flush fails, what was said in that turn is taken back (the links are closed, the
 * peers ask again), and the table is made anew of what the journal has, so that it is again
 * what a restart would find. Then segtab holds (segment/node/orders.c): polls are answered, nothing
 * else is done. As soon as a flush works again, or a whole snapshot is on the disk, all goes
 * on as before. */
#ifndef SEGQ_SEG_SERVICE_JOURNAL_H
#define SEGQ_SEG_SERVICE_JOURNAL_H

#include <stdio.h>

#include "common/journal/keeper.h"
#include "common/node/node.h"
#include "segment/node/segtab.h"

struct seg_journal;

/* *out = NULL if it is switched off (refused if the folder holds one). c: read during
 * the call only. disk: ref, for tests; NULL: the folder of this machine. */
SQ_CHECK int seg_journal_new(struct seg_journal **out, const struct node_cfg *c,
                             struct disk *disk, struct err *e);
/* Before the recovery, for tests that bring their disk: which start of the machine this is.
 * After another one the last joins may be missing: segments that were open are sealed. */
void seg_journal_set_boot(struct seg_journal *j, uint64_t boot);
/* NULL is fine, here and below. Flushes; after segtab_free(). */
void seg_journal_free(struct seg_journal *j);
/* For segtab_opts. */
void seg_journal_log(void *journal, const struct jrec *r);
bool seg_journal_room(void *journal, uint64_t bytes);
/* keeper_warn(); NULL: nothing. */
void seg_journal_warn(const struct seg_journal *j, struct buf *b);
/* Opens it, replays everything into a new table and lets it begin. */
SQ_CHECK int seg_journal_recover(struct seg_journal *j, struct segtab *t,
                                 struct seg_now now, struct err *e);

/* Bytes that a live ticket can still cost: it leaves, or is admitted and forgotten; as a rule
 * among many others in one group. */
#define SEG_TICKET_BYTES 24u
/* Room for n new tickets; false: join nobody. */
SQ_CHECK bool seg_journal_reserve(struct seg_journal *j, uint64_t n);
/* Before the answers of the turn go out. false: they must not, and what the turn has changed
 * must go: seg_journal_again() next. */
SQ_CHECK bool seg_journal_flush(struct seg_journal *j);
/* Replays the journal into a new table, which holds. < 0: it cannot be read, and nothing
 * is known for sure: the process must end. */
SQ_CHECK int seg_journal_again(struct seg_journal *j, struct segtab *t, struct seg_now now,
                               struct err *e);
void seg_journal_tick(struct seg_journal *j, msec_t now_ms);
void seg_journal_count(const struct seg_journal *j, struct keeper_counts *n);

/* segment --check-journal DIR; the exit code. */
int seg_journal_check(const char *dir, FILE *out);

#endif
