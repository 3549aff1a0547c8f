/* operate.h: what operators ask and order of a partition's tasks, through their manager; and servers
 * that look at a line. Pure. For the files of this room. */
#ifndef SEGQ_TASKTAB_OPERATE_H
#define SEGQ_TASKTAB_OPERATE_H

#include "task/node/answer.h"

/* Answers a router: the first tasks of a queue, in the order in which they would start. */
void tasktab_first(struct tasktab *t, struct asker a, const struct msg_task_first *q, struct outbox *out);
void tasktab_do(struct tasktab *t, struct asker a, const struct msg_task_do *q,
                struct outbox *out);

#endif
