/* task_figures.h: figures of pools of task queues, and the task nodes, as JSON. */
#ifndef SEGQ_MNG_TASK_FIGURES_H
#define SEGQ_MNG_TASK_FIGURES_H

#include "queuemng/admin/answers.h"

/* with_parts: each pool with its partitions. NULL: no memory. */
json_t *admin_task_figures(const struct mng *m, bool with_parts);

#endif
