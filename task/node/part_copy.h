/* part_copy.h: a partition's copy from one node to another. Pure. For the files of this room.
 *
 *   PART_OUT   a link to the target is wanted; over it PCOPY_BEGIN
 *   its ACK    the whole state as records, then what each turn adds, in chunks, of which so many may
 *              be on their way; a record that names a body goes behind that body
 *   all of it is on its way: FENCED is written, who waits here is told to ask elsewhere, and
 *              behind the rest goes the mark of the last chunk
 *   then       PART_DROP: it is the target's; PART_OPEN under a higher epoch: it stays here
 *
 * Whatever befalls the link or the target: the copy begins anew. The order repeats itself, so
 * nothing of this but the fence is kept over a restart. A copy of which nothing is heard for 10 s,
 * or which the target refuses, is *stuck*: the manager reads that in the status.
 *
 * A partition in a shared store is not copied: from its PART_OUT on no call of it begins, and when
 * those under way have ended the status says that another node may open it (PART_LEFT). It is in
 * service until that node does.
 *
 * At the other node everything is written as it comes, so an ACK, which leaves behind the turn's
 * write, says what is on the disk. A copy that is not whole (COMING) does not outlive the process;
 * a whole one (COME) does, and waits for PART_OPEN with its epoch, or PART_DROP. Neither is in
 * service: routers get `stale`, its clock stands. */
#ifndef SEGQ_TASKTAB_PART_COPY_H
#define SEGQ_TASKTAB_PART_COPY_H

#include "task/node/state.h"

/* NULL, or why not. Again: nothing. */
const char *tasktab_out_order(struct tasktab *t, const struct msg_part_out *m);
void tasktab_out_ack(struct tasktab *t, peer_no from, const struct msg_pcopy_ack *m);
/* At the end of a turn, behind all logs: chunks, fences. */
void tasktab_outs(struct tasktab *t, struct outbox *out);
void tasktab_outs_down(struct tasktab *t, peer_no no);

void tasktab_in_begin(struct tasktab *t, peer_no from, const struct msg_pcopy_begin *m,
                      struct outbox *out);
void tasktab_in_chunk(struct tasktab *t, peer_no from, const struct msg_pcopy_chunk *m,
                      struct outbox *out);

#endif
