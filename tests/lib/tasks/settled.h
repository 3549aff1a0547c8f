/* settled.h: what attempts took in truth is charged, or given back, once (J24). */
#ifndef SEGQ_TASKS_SETTLED_H
#define SEGQ_TASKS_SETTLED_H

#include "task/engine/look.h"
#include "tests/lib/tasks/model.h"

/* Somebody says what the attempt took; each limiter must have paid the difference. */
void settled_say(struct world *w, struct mtask *t);
/* No worker has seen the attempt: it has not begun, and has cost nothing. */
void settled_unseen(struct world *w, struct mtask *t);
/* What the task has is what was said. */
void settled_check(struct world *w, const struct mtask *t, const struct task_view *v);
/* The sums that the partition has are those of its records. */
void settled_audit(struct world *w);

#endif
