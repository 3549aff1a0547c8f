/* moves.h: partitions go from one task node to another: to empty a node that is drained, and so that
 * nodes have equally many (they differ by at most one).
 *
 *   begun       target and the epoch that it is to have (to_epoch) are stored; the source is told
 *               PART_OUT, again each second
 *   committed   the target says that it has a whole copy (PART_COME) under to_epoch, which only a
 *               fenced source completes: it becomes the owner, stored, then told (part_give)
 *   aborted     target gone, source gone for 3 s, or its copy is stuck: the source goes on under an
 *               epoch above to_epoch, stored, then told; what the target has is to be dropped
 *
 * Where both nodes keep tasks in one store (Redis) nothing is copied. PART_OUT tells the source to let
 * its calls end; when it says that they have (PART_LEFT), or after 35 s, the target is the owner, and
 * its opening fences the source. Until then the source has it as before, so an abort changes no epoch.
 *
 * So whatever is lost or comes late, no epoch has two owners, and nobody serves a copy that was
 * left behind: a fence ends by an epoch above to_epoch alone, a copy opens by to_epoch alone. A
 * manager that takes over reads the move from the store, and goes on with it. */
#ifndef SEGQ_QUEUEMNG_TASKS_MOVES_H
#define SEGQ_QUEUEMNG_TASKS_MOVES_H

#include "queuemng/state/tasks.h"

struct mng;

/* Once a second: those under way; new ones. */
void part_moves_tick(struct mng *m);
/* New ones, so that there are as many as may be at a time. */
void part_moves_next(struct mng *m);
/* Takes what a node says of a partition, whosever it is. left_for: PART_LEFT: epoch of its move. */
void part_move_heard(struct mng *m, const struct mtask_node *n, const struct part_row *r,
                     uint64_t left_for);
/* The node's link is gone. */
void part_moves_down(struct mng *m, const struct mtask_node *n);
/* The partition is lost, or its pool goes: the target drops what it has. */
void part_move_forget(struct mng *m, struct mpart *p);
/* Registered, not draining, with the fewest partitions after all moves; like: only one that keeps
 * tasks where that one does; NULL: any. NULL: none. */
struct mtask_node *task_node_for_one_more(struct mng *m, const struct mtask_node *like);

/* Takeover: partitions of a task node that is gone, where other nodes can open them: these get them,
 * each under an epoch above the lost node's, which is fenced when it comes back. */

void takeover_tick(struct mng *m);

#endif
