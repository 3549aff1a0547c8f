/* task_figures.h: figures of pools of task queues, of task nodes and of budgets, as JSON. */
#ifndef SEGQ_MNG_TASK_FIGURES_H
#define SEGQ_MNG_TASK_FIGURES_H

#include "queuemng/admin/answers.h"

/* pool: this one with its partitions and its definition; "": none; NULL: all with their partitions.
 * NULL: no memory. */
json_t *admin_task_figures(const struct admin_call *c, const char *pool);

void admin_task_queues(struct admin_call *c); /* GET /v1/admin/task-queues */
void admin_budgets(struct admin_call *c);     /* GET /v1/admin/budgets: definitions' names, and figures */

#endif
