/* shared.h: a task node whose partitions are in a Redis (`store: redis`): its table and
 * task/redis, and answers that wait for Redis. Shell.
 *
 * An answer leaves when Redis has what its turn, and all turns before it, did with the partitions
 * of which it tells. If one of these is lost meanwhile (another node has it, Redis has forgotten),
 * nothing that waits is told: all links end, and who asked asks again. */
#ifndef SEGQ_TASK_SHARED_H
#define SEGQ_TASK_SHARED_H

#include "task/redis/partitions.h"
#include "task/service/config.h"

struct task_service;
struct task_shared;

SQ_CHECK int task_shared_new(struct task_shared **out, struct task_service *s,
                             const struct task_cfg *c, struct err *e);
/* Links that are there go on. */
void task_shared_reload(struct task_shared *h, const struct task_cfg *c);
void task_shared_free(struct task_shared *h); /* NULL is fine */
extern const struct tab_shared task_shared_table; /* for tasktab_opts; ctx: struct task_shared */
/* After tasktab_turn(). whole: what it answered. */
void task_shared_turn(struct task_shared *h, bool whole);
void task_shared_metrics(const struct task_shared *h, struct buf *b);

#endif
