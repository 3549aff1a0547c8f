/* supervise.h: the life of one supervised child process, as one table. Pure.
 * The shell (cluster.c) feeds it what happened and performs the act it answers.
 *
 *            START               READY
 *   DOWN ------------> STARTING ------> UP
 *     ^                 |  ^  |          |  RESTART or not ready in time: BOUNCING
 *     |            EXIT v  |  |          v
 *     |             BACKOFF   +------> ENDING --grace over--> ENDING_HARD (KILL sent)
 *     +-------------------------------- EXIT ----------------------+
 *
 * BOUNCING is ENDING for a child that is started again afterwards. A child is up when it
 * said so on its descriptor, not when it was forked. Restarts back off from 200 ms to
 * 10 s (`restart_max`), doubled each time and jittered; a minute of being up makes the next
 * quick again. */
#ifndef SEGQ_SUPERVISE_H
#define SEGQ_SUPERVISE_H

#include "common/base/base.h"
#include "common/base/rng.h"

enum sup_state {
    SUP_DOWN,          /* not wanted, no process */
    SUP_STARTING,      /* process runs, has not said ready */
    SUP_UP,            /* said ready, or was adopted */
    SUP_ENDING,        /* TERM sent, will not be started again */
    SUP_ENDING_HARD,   /* KILL sent, will not be started again */
    SUP_BOUNCING,      /* TERM sent, will be started again */
    SUP_BOUNCING_HARD, /* KILL sent, will be started again */
    SUP_BACKOFF,       /* wanted, no process, waiting for the next try */
    SUP_NSTATES
};

enum sup_event {
    SUP_EV_START,   /* wanted from now on */
    SUP_EV_STOP,    /* not wanted any more */
    SUP_EV_READY,   /* wrote on its readiness descriptor */
    SUP_EV_EXIT,    /* the process is gone, or could not be started */
    SUP_EV_DUE,     /* sup_child.due_ms has come */
    SUP_EV_RELOAD,  /* HUP was asked for */
    SUP_EV_RESTART, /* arguments changed: end it gracefully, start it again */
    SUP_EV_ADOPT,   /* a running process of an earlier supervisor was found */
    SUP_NEVENTS
};

enum sup_act { SUP_ACT_NONE, SUP_ACT_SPAWN, SUP_ACT_TERM, SUP_ACT_KILL, SUP_ACT_HUP };

struct sup_opts {
    uint32_t ready_ms;                       /* 0 = 30 s: not ready in time: failed */
    uint32_t grace_ms;                       /* 0 = 30 s: from TERM to KILL */
    uint32_t backoff_min_ms, backoff_max_ms; /* 0 = 200, 10000 */
    uint32_t stable_ms;                      /* 0 = 60 s: then the back-off starts anew */
};

struct sup_child {
    enum sup_state state;
    msec_t due_ms;     /* feed SUP_EV_DUE then; MSEC_NEVER: nothing to wait for */
    msec_t since_ms;   /* when `state` was entered */
    uint32_t tries;    /* failures in a row: chooses the back-off */
    uint64_t restarts; /* ever: starts after the first one */
    bool started;      /* has been started or adopted before */
};

void sup_init(struct sup_child *c);
/* Takes the step; the caller performs the returned act. SPAWN that fails is fed back as
 * SUP_EV_EXIT by the caller in a later turn, never from inside. */
SQ_CHECK enum sup_act sup_step(struct sup_child *c, const struct sup_opts *o,
                               enum sup_event ev, msec_t now_ms, struct rng *rng);
const char *sup_state_name(enum sup_state s);
const char *sup_event_name(enum sup_event e);

#endif
