/* submissions.h: a task is submitted to a partition: is there room for it, in the partition and its
 * node, and would it wait for too long? Pure. For the files of this room. */
#ifndef SEGQ_TASKTAB_SUBMISSIONS_H
#define SEGQ_TASKTAB_SUBMISSIONS_H

#include "task/node/state.h"

/* Delays run from the end of the millisecond in which they came: a partition's clock shows the
 * begin of its turn. 0: none. */
msec_t tasktab_delay(const struct tasktab *t, const struct part *p, msec_t ms);
struct put_refused { /* word of a bound; 0: nothing */
    msec_t ms; /* time by which its wait would be longer than max_wait, or until there may be room */
    uint64_t units, max_units; /* FULL_UNITS: wait in the queue, of at most */
};
/* Submits like engine_submit(). from: on whose link the pieces of its body came, if it is large. tasks: those
 * of the node, before and after. */
SQ_CHECK int tasktab_put_one(struct part *p, const struct task_put *r, peer_no from, uint64_t *tasks, task_no *no,
                             struct put_refused *why);
/* Submits one alone. */
SQ_CHECK int tasktab_put_here(struct part *p, const struct task_put *put, task_no *no);

#endif
