/* actors.h: callers, workers and operators of the world. */
#ifndef SEGQ_TASKS_ACTORS_H
#define SEGQ_TASKS_ACTORS_H

#include "tests/lib/tasks/world.h"

/* Some of them say something in this turn: it is in w->said. */
void actors_step(struct world *w);
/* One of them says it now, of this task (0: none): what came of it is still to be filled in. */
struct said *actors_say(struct world *w, enum verb verb, task_no no);

#endif
