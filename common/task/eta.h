/* eta.h: by what it is reckoned when a task starts. Pure. */
#ifndef SEGQ_COMMON_TASK_ETA_H
#define SEGQ_COMMON_TASK_ETA_H

/* name, word for people */
#define TASK_ETAS(X)                                                                     \
    X(UNSAID, "")                  /* does not wait, or its node is older */          \
    X(DELAY, "delay")              /* until then its delay or back-off runs; then its line */ \
    X(PACE, "pace")                /* pace of its queue in the last minute */       \
    X(RATE, "rate")                /* a rate lets it start no earlier */                 \
    X(CONCURRENCY, "max_concurrent") /* not known: as many run as may */                 \
    X(PAUSED, "paused")            /* not known: by the operator */                      \
    X(NO_WORKER, "no_worker")      /* not known: none has been taken in the last minute */ \
    X(ENDPOINT, "endpoint_down")   /* not known: its target is not well */               \
    X(ADAPTIVE, "adaptive")        /* not known: as many calls as its target bears */     \
    X(TRIPPED, "endpoint_tripped") /* not known: an operator has stopped its endpoint */

enum task_eta {
#define X(NAME, word) TASK_ETA_##NAME,
    TASK_ETAS(X)
#undef X
    TASK_NETAS
};

#endif
