/* operate.h: what operators ask and order of a partition's tasks, through their manager. Pure. For
 * the files of this room. */
#ifndef SEGQ_TASKTAB_OPERATE_H
#define SEGQ_TASKTAB_OPERATE_H

#include "task/node/answer.h"

void tasktab_do(struct tasktab *t, struct asker a, const struct msg_task_do *q,
                struct outbox *out);

#endif
