/* order.h: what must hold when a task starts: order, limits, priorities, not early. */
#ifndef SEGQ_TASKS_ORDER_H
#define SEGQ_TASKS_ORDER_H

#include "tests/lib/tasks/model.h"

/* Nobody that could start waits while a take found nobody. Looked at after such a take. */
void order_check_idle(struct world *w);
void order_refund(struct world *w, const struct mtask *t);
/* A take of this queue got less than it wanted. */
void order_check_left(struct world *w, unsigned queue);

#endif
