/* parts.h: partitions, their owners, and their moves from one owner to another. A partition has one owner, under an epoch that no other
 * owner of it ever had; both are stored before the owner is told. It is told again each second
 * until it reports the partition. A node that is away keeps its partitions: their tasks are on
 * its disk. */
#ifndef SEGQ_QUEUEMNG_TASKS_PARTS_H
#define SEGQ_QUEUEMNG_TASKS_PARTS_H

#include "queuemng/state/tasks.h"

/* Partitions go from one task node to another: to empty a node that is drained, and so that
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

struct mng;

/* The node's link is gone. */
void part_moves_down(struct mng *m, const struct mtask_node *n);
/* The partition is lost, or its pool goes: the target drops what it has. */
void part_move_forget(struct mng *m, struct mpart *p);

/* Takeover: partitions of a task node that is gone, where other nodes can open them: these get them,
 * each under an epoch above the lost node's, which is fenced when it comes back. */

void takeover_tick(struct mng *m);

/* Gives each share of the pool that has no partition one. False: no memory. */
bool parts_fill(struct mng *m, struct mpool *p);
/* Replaces a lost partition: its tasks are gone, the share gets another one, which nobody has yet. */
void part_renew(struct mng *m, struct mpart *p);
/* Once a second: partitions without an owner get the one that has the fewest. Together with the
 * others of that second, so that nodes that come at the same time share them. */
void parts_tick(struct mng *m);
/* Takes what a registering node has, and orders what it should have. */
void parts_listed(struct mng *m, struct mtask_node *n, const struct msg_task_reg *g);
void on_part_status(struct mng *m, struct mtask_node *n, const struct msg_part_status *g);

#endif
