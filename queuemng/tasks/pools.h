/* pools.h: pools are defined, changed and removed; their shares get partitions, and parts of what limits
 * by metrics let start. Pinned keys of their queues, likewise. */
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
/* Does the queue that `key` of a definition names take calls, to tell somebody? 0, or SQ_EINVAL: it has no
 * endpoint. */
SQ_CHECK int pool_takes_calls(const struct mng *m, const char *queue, const char *key, struct err *e);
/* Has no endpoint of a push service an `auth`? By the rules of a queue, or (NULL) by those of all with an endpoint as
 * it is to be. */
SQ_CHECK int pools_push_auth(const struct mng *m, const struct endpoint_def *changed, const struct def_turn *t,
                             struct err *e);
/* True: routers push (`push_contact`), and no pool is named for a push service: no browser can be told. */
bool pools_push_none(const struct mng *m, const struct def_turn *t);

/* Each tick: the rate of a pool with limits by metrics is shared out among the owners of its partitions.
 *
 * The shares of a pool never exceed its rate: an owner that is not heard may still use what it was
 * told last, for as long as that holds, and its share of the fallback from then on. The others get
 * the rest by what waits there; those where nobody waits a little, so that a task which comes need
 * not wait for the next second. */
void pool_rates_tick(struct mng *m);

/* Pinned keys: what an operator says of one key of one queue is told to the owners of all
 * partitions that may have tasks of the queue. A pin is of a queue, not of a pool: it holds, too,
 * when the queue gets another pool, and goes with the last one. */

struct json_t;

/* A new definition (pin: NULL), or a changed one, that key_pin_check() has passed. SQ_EUNKNOWN (no pool
 * has the queue), SQ_ECONFLICT, SQ_ENOMEM. */
SQ_CHECK int pin_define(struct mng *m, void *pin, const void *def, struct err *e);
void pin_remove(struct mng *m, void *pin);
/* A new pool of this name: has it a partition's room for them all? 0 or SQ_ECONFLICT. */
SQ_CHECK int pins_fit(const struct mng *m, const char *match, struct err *e);
/* A pool has gone: those of queues that no pool has any more go, too. */
void pins_tidy(struct mng *m);

/* pin/QUEUE:KEY, as stored. 0, SQ_EPROTO, SQ_ENOMEM. */
SQ_CHECK int pin_load(struct mng *m, const char *key, struct json_t *j, struct err *e);

#endif
