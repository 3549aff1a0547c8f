/* order.h: what must hold when a task starts: order, limits, priorities, not early. */
#ifndef SEGQ_TASKS_ORDER_H
#define SEGQ_TASKS_ORDER_H

#include "tests/lib/tasks/model.h"

/* Nobody that could start waits while a take found nobody. Looked at after such a take. */
void order_check_idle(struct world *w);
/* A start turns out to have taken so many units more (below 0: less) than it was charged. */
void order_settle(struct world *w, const struct mtask *t, double more);
/* Notes in which calendar windows it starts. */
void order_windows(struct world *w, struct mtask *t);
/* A take of this queue got less than it wanted. */
void order_check_left(struct world *w, unsigned queue);

#endif
