/* state.h: the states of a task, which follows which, and what may stop one that waits. Pure. */
#ifndef SEGQ_COMMON_TASK_STATE_H
#define SEGQ_COMMON_TASK_STATE_H

#include "common/base/base.h"

/* name, word for people */
#define TASK_STATES(X)                                                                   \
    X(FREE, "free")           /* no task has the slot */                                 \
    X(SCHEDULED, "scheduled") /* delay runs */                                       \
    X(WAITING, "waiting")     /* in its line */                                          \
    X(RUNNING, "running")     /* a worker has a lease */                                 \
    X(RETRYING, "retrying")   /* an attempt failed; its back-off runs */                 \
    X(SUCCEEDED, "succeeded") /* final from here on: kept until its life ends */         \
    X(DEAD, "dead")           /* no attempt is left; may be redriven */                  \
    X(CANCELLED, "cancelled")                                                            \
    X(EXPIRED, "expired")     /* waited for longer than allowed */

enum task_state {
#define X(NAME, word) TASK_##NAME,
    TASK_STATES(X)
#undef X
    TASK_NSTATES
};

enum closed { /* limits that stop the tasks of a queue or key: bits */
    CLOSED_RATE = 1,
    CLOSED_AT_ONCE = 2,
    CLOSED_PAUSE = 4,
    CLOSED_BUDGET = 8, /* not by the engine: its endpoint's part of a budget */
};
#define CLOSED_BITS 4u

/* The rule of a pool behind 1 << bit. */
const char *closed_word(unsigned bit);

/* The hold of a task in line: the lowest level that is closed; LIMITS: by metrics.
 * name, word, words for people. What none of them holds waits for a worker. */
#define TASK_HOLDS(X)                                                                    \
    X(KEY_RATE, "key_rate", "the rate of keys")                                          \
    X(KEY_AT_ONCE, "key_max_concurrent", "max_concurrent of keys")                       \
    X(QUEUE_RATE, "queue_rate", "the rate of the queue")                                 \
    X(QUEUE_AT_ONCE, "queue_max_concurrent", "max_concurrent of the queue")              \
    X(PAUSE, "pause", "a pause")                                                         \
    X(ORDER, "order", "the one before it (order: strict)")                               \
    X(LIMITS, "limits", "the limits of the pool")                                        \
    X(ENDPOINT, "endpoint", "its endpoint")

enum task_hold {
#define X(NAME, word, says) HOLD_##NAME,
    TASK_HOLDS(X)
#undef X
    TASK_NHOLDS
};
const char *task_hold_word(enum task_hold h);
const char *task_hold_says(enum task_hold h);

const char *task_state_word(enum task_state s);
bool task_state_may_follow(enum task_state from, enum task_state to);

static inline bool task_state_is_final(enum task_state s)
{
    return s >= TASK_SUCCEEDED;
}

#endif
