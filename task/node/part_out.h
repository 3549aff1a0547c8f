/* part_out.h: a partition's copy on its way to another node. Pure. For the files of this room.
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
 * service until that node does. */
#ifndef SEGQ_TASKTAB_PART_OUT_H
#define SEGQ_TASKTAB_PART_OUT_H

#include "task/node/state.h"

/* NULL, or why not. Again: nothing. */
const char *tasktab_out_order(struct tasktab *t, const struct msg_part_out *m);
void tasktab_out_ack(struct tasktab *t, peer_no from, const struct msg_pcopy_ack *m);
/* At the end of a turn, behind all logs: chunks, fences. */
void tasktab_outs(struct tasktab *t, struct outbox *out);
void tasktab_outs_down(struct tasktab *t, peer_no no);

#endif
