/* actors.h: callers, workers and operators of the world. */
#ifndef SEGQ_TASKS_ACTORS_H
#define SEGQ_TASKS_ACTORS_H

#include "tests/lib/tasks/world.h"

/* Some of them say something in this turn: it is in w->said. */
void actors_step(struct world *w);

#endif
