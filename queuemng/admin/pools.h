/* pools.h: definitions of pools of task queues, and figures of their partitions. */
#ifndef SEGQ_QUEUEMNG_ADMIN_POOLS_H
#define SEGQ_QUEUEMNG_ADMIN_POOLS_H

#include "queuemng/admin/answers.h"

void admin_pools(struct admin_call *c);       /* GET /v1/admin/pools */
void admin_pool(struct admin_call *c);        /* /v1/admin/pools/MATCH, which may have slashes */
void admin_task_queues(struct admin_call *c); /* GET /v1/admin/task-queues */

#endif
