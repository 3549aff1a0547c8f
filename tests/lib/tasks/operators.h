/* operators.h: operators of the world: orders about many tasks at once. */
#ifndef SEGQ_TASKS_OPERATORS_H
#define SEGQ_TASKS_OPERATORS_H

#include "tests/lib/tasks/world.h"

/* One of them gives an order now. */
void operators_step(struct world *w);

#endif
