/* pins.h: pinned keys: what an operator says of one key of one queue is told to the owners of all
 * partitions that may have tasks of the queue. A pin is of a queue, not of a pool: it holds, too,
 * when the queue gets another pool, and goes with the last one. */
#ifndef SEGQ_QUEUEMNG_TASKS_PINS_H
#define SEGQ_QUEUEMNG_TASKS_PINS_H

#include "common/base/err.h"
#include "queuemng/state/tasks.h"

struct json_t;
struct mng;

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
