/* tasks.h: paths about tasks: questions, and orders by operators. path: behind the first part. */
#ifndef SEGQ_QUEUEMNG_ADMIN_TASKS_H
#define SEGQ_QUEUEMNG_ADMIN_TASKS_H

#include "queuemng/admin/answers.h"

void admin_task(struct admin_call *c);       /* /v1/admin/tasks/TASK[/ORDER] */
void admin_task_queue(struct admin_call *c); /* .../task-queues/QUEUE/tasks, /busiest */

#endif
