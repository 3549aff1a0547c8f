/* pools.h: pools are defined, changed and removed; their shares get partitions, and parts of what limits
 * by metrics let start. */
#ifndef SEGQ_QUEUEMNG_TASKS_POOLS_H
#define SEGQ_QUEUEMNG_TASKS_POOLS_H

#include "common/base/err.h"
#include "queuemng/state/tasks.h"

struct mng;

/* A new definition (pool: NULL), or a changed one, that pool_def_check() has passed. SQ_EINVAL,
 * SQ_ECONFLICT, SQ_ENOMEM. */
SQ_CHECK int pool_define(struct mng *m, void *pool, const void *def, struct err *e);
/* SQ_ECONFLICT, unless final: there are tasks that are not at their end, or schedules, or it is not
 * known. */
SQ_CHECK int pool_may_remove(const struct mng *m, const void *pool, bool final, struct err *e);
/* Removes it, with its tasks. */
void pool_remove(struct mng *m, void *pool);
/* Replaces a lost partition: its tasks are gone, the share gets another one, which nobody has yet. */
void part_renew(struct mng *m, struct mpart *p);

/* Each tick: the rate of a pool with limits by metrics is shared out among the owners of its partitions.
 *
 * The shares of a pool never exceed its rate: an owner that is not heard may still use what it was
 * told last, for as long as that holds, and its share of the fallback from then on. The others get
 * the rest by what waits there; those where nobody waits a little, so that a task which comes need
 * not wait for the next second. */
void pool_rates_tick(struct mng *m);

#endif
