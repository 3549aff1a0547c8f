/* first.h: the first tasks of a queue, in the order in which they would start. Pure.
 *
 * The order is that of engine_take() at this moment, one after another, if nothing else happens: no task
 * comes, ends or changes, and time stands. It is found by doing that to a trial of the tree (trial.h):
 * nothing starts.
 *
 * What stops the queue as a whole (pause, rate, tasks at once, its pool's limits by metrics) says when
 * they start, and not in which order: the list goes on as if there was no such limit, and `now` says
 * how many may start at once. What stops a key holds: its tasks are not in the list while it is closed,
 * nor those behind the one that closes it. */
#ifndef SEGQ_TASK_FIRST_H
#define SEGQ_TASK_FIRST_H

#include "task/engine/engine.h"

#define FIRST_STEPS 40000u /* steps of the tree: less than 10 ms, also where each finds a key that may not */

struct first_tasks {
    uint32_t waiting; /* tasks in line in the queue */
    uint32_t n;       /* in the list; at most as many as there was room for */
    uint32_t now;     /* the first so many may start at once */
    bool cut;         /* the list ends here since it took FIRST_STEPS */
};

/* Lists at most `most`. Of a queue that has no task: none. 0 or SQ_ENOMEM. */
SQ_CHECK int engine_first(struct engine *e, const struct trec_text *queue, uint32_t most, task_no *out,
                          struct first_tasks *f);

#endif
