/* settle.h: what a worker says of a task that it has: done, not done, still at it. Pure.
 *
 * The lease must be the one that the task has now: else SQ_ECONFLICT (it lapsed, and the task
 * is another's, or final), or SQ_EUNKNOWN: there is no such task. SQ_ESTALE: not the owner. */
#ifndef SEGQ_TASK_SETTLE_H
#define SEGQ_TASK_SETTLE_H

#include "task/engine/engine.h"

/* result: where it is; kept as it is. Again with the same lease: SQ_ECONFLICT. */
SQ_CHECK int engine_ack(struct engine *e, task_no no, uint64_t lease, uint64_t result);
/* delay_ms: < 0 as the back-off says. 0; the task is tried again, or dead. */
SQ_CHECK int engine_nack(struct engine *e, task_no no, uint64_t lease, msec_t delay_ms);
/* The lease ends lease_ms from now. */
SQ_CHECK int engine_extend(struct engine *e, task_no no, uint64_t lease, uint32_t lease_ms);

#endif
