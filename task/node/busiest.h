/* busiest.h: figures of single queues, for /metrics: those of the node with the most tasks that wait or
 * are dead, and those that the operator named: bounded, however many queues there are. Pure.
 *
 * A walk goes round the queues of each partition, some in each report, and keeps the names of its
 * busiest ones; a scrape asks what these have now. So the choice is some seconds old (a second for
 * each BUSIEST_STEPS queues of a partition), and the numbers are not. */
#ifndef SEGQ_TASKTAB_BUSIEST_H
#define SEGQ_TASKTAB_BUSIEST_H

#include "task/engine/look.h"

#define BUSIEST_MAX   100u
#define BUSIEST_STEPS 4096u /* queues of a partition, each report: some tenths of a millisecond */

struct busiest { /* queues of a partition; zero: none */
    struct key_view *v; /* owned; the last round's `n`, then this round's; NULL: none yet */
    unsigned n, n_now;
    uint32_t at; /* position of the walk */
};

struct tasktab;

/* Goes on with the walk for the `most` busiest; 0: there is none. */
void busiest_look(struct busiest *b, const struct engine *e, unsigned most);
void busiest_fini(struct busiest *b);

/* Fills v[n_names + BUSIEST_MAX]: the named queues in their order (one that has no task here has 0), then
 * the node's busiest that are not named. How many. */
unsigned tasktab_queue_views(const struct tasktab *t, const char names[][TASK_NAME_MAX + 1],
                             unsigned n_names, struct key_view *v);

#endif
