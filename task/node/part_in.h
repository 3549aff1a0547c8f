/* part_in.h: a partition's copy as it comes from its node. Pure. For the files of this room.
 * Everything is written as it comes, so an ACK, which leaves behind the turn's write, says what is
 * on the disk. A copy that is not whole (COMING) does not outlive the process; a whole one (COME)
 * does, and waits for PART_OPEN with its epoch, or PART_DROP. Neither is in service: routers get
 * `stale`, its clock stands. */
#ifndef SEGQ_TASKTAB_PART_IN_H
#define SEGQ_TASKTAB_PART_IN_H

#include "task/node/state.h"

void tasktab_in_begin(struct tasktab *t, peer_no from, const struct msg_pcopy_begin *m,
                      struct outbox *out);
void tasktab_in_chunk(struct tasktab *t, peer_no from, const struct msg_pcopy_chunk *m,
                      struct outbox *out);

#endif
