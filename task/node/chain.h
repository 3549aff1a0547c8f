/* chain.h: the next task of a chain (`then` of a submission), when the one before it succeeds. Pure.
 * For the files of this room.
 *
 * What is to come of the success stands in the same group of the journal as the success itself: the
 * next task, where its queue has the same partition; else the record RELAY, until a router has
 * made a task of it where it belongs (RELAY_GONE), as a notice of an end. It is said again until
 * that, always under one Idempotency-Key, made of the first task's number: that makes one task. */
#ifndef SEGQ_TASKTAB_CHAIN_H
#define SEGQ_TASKTAB_CHAIN_H

#include "common/base/arena.h"
#include "task/node/state.h"

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
