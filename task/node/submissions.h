/* submissions.h: a task is submitted to a partition, by a caller, or since the one before it in a
 * chain succeeded: is there room for it, in the partition and its node, and would it wait for too long? Pure. For the
 * files of this room. */
#ifndef SEGQ_TASKTAB_SUBMISSIONS_H
#define SEGQ_TASKTAB_SUBMISSIONS_H

#include "common/base/memory.h"
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

/* The next task of a chain (`then` of a submission), when the one before it succeeds.
 * For the files of this room.
 *
 * What is to come of the success stands in the same group of the journal as the success itself: the
 * next task, where its queue has the same partition; else the record RELAY, until a router has
 * made a task of it where it belongs (RELAY_GONE), as a notice of an end. It is said again until
 * that, always under one Idempotency-Key, made of the first task's number: that makes one task. */

struct chain_step {
    bool any;        /* a task is behind it; else nothing follows is set */
    uint8_t why;     /* enum chain_why: it cannot be; 0: it can */
    struct arena mem;
    struct buf body; /* bytes of its payload, if results are in it */
    struct msg m;    /* TASK_PUT, of one row */
};

/* Makes the next task ready, before the task becomes done with this result. 0 or SQ_ENOMEM; in either case
 * tasktab_chain_over() ends it. */
SQ_CHECK int tasktab_chain_ready(const struct part *p, task_no no, const struct bytes_of *kept,
                                 struct chain_step *next);
/* The task is done. */
void tasktab_chain_goes(struct part *p, task_no no, const struct chain_step *next);
void tasktab_chain_over(struct chain_step *next);
/* A router's answer to a hand-over. */
void tasktab_chain_answered(struct part *p, const struct msg_task_notice_ans *m);

#endif
