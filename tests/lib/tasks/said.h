/* said.h: one thing that somebody said to the partition in a turn, and its answer. */
#ifndef SEGQ_TASKS_SAID_H
#define SEGQ_TASKS_SAID_H

#include "task/engine/submit.h"
#include "task/engine/worker.h"

#define SAID_MAX 64

enum verb { SAID_SUBMIT, SAID_TAKE, SAID_ACK, SAID_NACK, SAID_EXTEND, SAID_CANCEL, SAID_ORDER,
            SAID_DELAY, SAID_REDRIVE, SAID_READ, SAID_DISCARD, SAID_MOVED, SAID_RUN,
            SAID_PRIORITY, SAID_REDRIVE_ALL, SAID_UNSEEN };

/* The rest says where a body is: it changes when the body moves. */
#define BODY_ITSELF (UINT64_MAX >> 8)

struct said {
    enum verb verb;
    int rc;      /* the answer */
    task_no no;  /* the task, said or answered */
    msec_t at;   /* the node's axis */
    msec_t wall;
    unsigned queue, key1, key2, name, priority; /* SUBMIT; name 0: none; keys 0: none */
    unsigned offer;  /* SUBMIT: bits of all of its queues; 0: of one. TAKE: `queue` is that of the take */
    unsigned unique; /* SUBMIT; 0: none */
    enum unique_while lasts;
    enum unique_conflict on_conflict;
    uint64_t digest, body;
    msec_t ms, wall_ms; /* SUBMIT, DELAY: delay, at; NACK: delay; EXTEND: lease */
    int64_t order;
    struct task_own own; /* SUBMIT */
    uint64_t per_1000_s; /* REDRIVE_ALL: of `queue` */
    struct taken taken; /* TAKE: one said for each task */
};

#endif
