/* task_nodes.h: task nodes: their links, registration and silence; operators' orders about those that
 * are to go: they are drained (their partitions move to others), or, when they are gone for good,
 * forgotten: what they had is lost. */
#ifndef SEGQ_QUEUEMNG_TASKS_TASK_NODES_H
#define SEGQ_QUEUEMNG_TASKS_TASK_NODES_H

#include "common/base/err.h"
#include "queuemng/state/tasks.h"

struct mng;
struct msg;

void task_node_up(struct mng *m, peer_no p, const char *name, uint64_t incarnation);
void task_node_down(struct mng *m, struct mtask_node *n);
void task_node_msg(struct mng *m, struct mtask_node *n, const struct msg *g);
/* Notes those that are silent for lost_after. */
void task_nodes_tick(struct mng *m);

/* off: it gets partitions again. */
void task_node_drain(struct mng *m, struct mtask_node *n, bool on);
/* SQ_ECONFLICT: it is up, or (not by force) it has partitions: e says what would be lost. */
SQ_CHECK int task_node_may_forget(const struct mng *m, const struct mtask_node *n, bool force,
                                  struct err *e);
/* Gives up its partitions: others take their shares, and begin empty. n is freed. */
void task_node_forget(struct mng *m, struct mtask_node *n, const char *why);
/* Once a second: one that was drained and has gone is forgotten after a while. */
void task_nodes_farewell(struct mng *m);

#endif
