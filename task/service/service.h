/* service.h: a task node: the table (task/node) between its links. Shell.
 *
 *   routers --- rpc (listen) --- table --- rpc (dialled) --- queuemng, all of them
 *                                  |
 *                          journal, bodies
 *
 * A turn: what came in is carried out, and answered into the links' output; at its end the clock's
 * doings, the waiting calls, then bodies and journal are flushed; only then does output leave.
 *
 * Failures, and what follows (of links: node.h):
 *   all managers unreachable       partitions stay in service
 *   what was done cannot be kept   the turn's answers are not sent; keeper.h
 *   the journal cannot be read     the process does not start, and says why */
#ifndef SEGQ_TASK_SERVICE_H
#define SEGQ_TASK_SERVICE_H

#include "common/node/node.h"
#include "common/node/node_peers.h"
#include "task/service/archive.h"
#include "task/service/caller.h"
#include "task/service/config.h"
#include "task/service/journal.h"
#include "task/service/polled.h"
#include "task/service/shared.h"

/* The state of the task process: its table, what it counts.
 *
 *   service.c  start, the end of a turn, stop
 *   journal.c  what must not be forgotten, in files
 *   shared.c   the same in a Redis; answers that wait for it
 *   caller.c   tasks that are calls: sent, settled
 *   polled.c   pages of targets, operators' own services for waits: asked
 *   metrics.c  the page for Prometheus */

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

struct task_service_opts {
    const struct task_cfg *cfg;        /* read during task_service_new() only */
    struct node_opts node;
};

/* Reads the journal, listens and dials. */
SQ_CHECK int task_service_new(struct task_service **out, struct ev *ev,
                              const struct task_service_opts *o, struct err *e);
/* Not from inside a callback. */
void task_service_free(struct task_service *s);
/* Accepts nobody new, answers what is on its way, then calls node_opts.on_gone. */
void task_service_stop(struct task_service *s);
void task_service_reload(struct task_service *s, const struct task_cfg *c);

#endif
