/* task_nodes.h: links to task nodes; their registration and silence. */
#ifndef SEGQ_QUEUEMNG_TASKS_TASK_NODES_H
#define SEGQ_QUEUEMNG_TASKS_TASK_NODES_H

#include "queuemng/state/tasks.h"

struct mng;
struct msg;

void task_node_up(struct mng *m, peer_no p, const char *name, uint64_t incarnation);
void task_node_down(struct mng *m, struct mtask_node *n);
void task_node_msg(struct mng *m, struct mtask_node *n, const struct msg *g);
/* Notes those that are silent for lost_after. */
void task_nodes_tick(struct mng *m);

#endif
