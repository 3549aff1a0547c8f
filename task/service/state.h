/* state.h: the state of the task process: its table, what it counts. Data only.
 *
 *   service.c  start, the end of a turn, stop
 *   journal.c  what must not be forgotten, in files
 *   shared.c   the same in a Redis; answers that wait for it
 *   caller.c   tasks that are calls: sent, settled
 *   estimator.c  operators' own services for waits: asked
 *   metrics.c  the page for Prometheus */
#ifndef SEGQ_TASK_STATE_H
#define SEGQ_TASK_STATE_H

#include "common/node/node_peers.h"
#include "task/service/archive.h"
#include "task/service/caller.h"
#include "task/service/estimator.h"
#include "task/service/journal.h"
#include "task/service/shared.h"

struct task_shell_counts { /* ever; for metrics */
    uint64_t late_turns; /* more than a second after they were due */
    uint64_t too_long;   /* answers longer than max_answer of their endpoint */
    uint64_t left;       /* answers that went since their partition did */
};

struct task_service {
    struct node node;          /* owned, like all below */
    struct node_dials dials;   /* to other task nodes */
    struct tasktab *tab;
    struct keeper *keeper;     /* NULL: nothing survives the process */
    struct bodies *bodies;     /* NULL, like keeper: there is `shared` */
    struct task_shared *shared; /* NULL: tasks are in the node's files */
    struct archive *archive;   /* NULL: none */
    struct answers *answers;   /* NULL: none is kept whole */
    struct large *large;       /* NULL: no large bodies are taken */
    struct caller caller;
    struct estimator estimator;
    msec_t stop_ms; /* calls have until then; 0: it goes on */
    struct ev_timer *tick, *clock;
    struct task_shell_counts n;
    uint64_t recovered;        /* tasks, at the start */
    uint8_t seed[NAMES_SEED];
    uint32_t max_tasks, max_keys;
    unsigned busiest, n_queues; /* queues with metrics of their own: so many of the busiest, and these */
    char queues[METRICS_QUEUES_MAX][TASK_NAME_MAX + 1];
    msec_t wall_ms;            /* at the start (node.began_ms): the node's axis */
    uint64_t boot;             /* which start of the machine it is; 0: not known */
    msec_t clock_ms;           /* when the clock is due; 0: not */
    msec_t clock_was_ms;       /* when it last was */
};

/* The node's axis: the wall clock at the start, and monotonic from there. */
static inline struct task_now task_service_now(const struct task_service *s)
{
    return (struct task_now){ s->wall_ms + ev_now(s->node.ev) - s->node.began_ms,
                              ev_wall_ms(s->node.ev) };
}

/* The same, read anew: a delay runs from when it was asked for, not from the turn's begin. */
static inline struct task_now task_service_read_now(const struct task_service *s)
{
    return (struct task_now){ s->wall_ms + ev_read_mono_us() / 1000 - s->node.began_ms,
                              ev_read_wall_ms() };
}

#endif
