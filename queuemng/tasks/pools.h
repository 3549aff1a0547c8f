/* pools.h: pools are defined, changed and removed; their shares get partitions. */
#ifndef SEGQ_QUEUEMNG_TASKS_POOLS_H
#define SEGQ_QUEUEMNG_TASKS_POOLS_H

#include "common/base/err.h"
#include "queuemng/state/tasks.h"

struct mng;

/* A new definition, or a changed one. SQ_EINVAL, SQ_ECONFLICT, SQ_ENOMEM. */
SQ_CHECK int pool_define(struct mng *m, const struct pool_def *d, struct err *e);
/* Deletes it, with its tasks. */
void pool_remove(struct mng *m, struct mpool *p);
/* Replaces a lost partition: its tasks are gone, the share gets another one, which nobody has yet. */
void part_renew(struct mng *m, struct mpart *p);

#endif
