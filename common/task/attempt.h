/* attempt.h: an attempt at a task, and how it ended. Pure. */
#ifndef SEGQ_COMMON_TASK_ATTEMPT_H
#define SEGQ_COMMON_TASK_ATTEMPT_H

#include "common/base/base.h"

/* name, number in journals and on the wire (never another's), word for people */
#define ATTEMPT_ENDS(X)                                                                  \
    X(GIVEN_BACK, 1, "nack")      /* the worker gave it back, perhaps with a reason */   \
    X(LAPSED, 2, "lease_lapsed")  /* the worker said nothing until its lease ended */    \
    X(EXPIRED, 3, "expired")      /* none: it waited for longer than task_ttl */         \
    X(CANCELLED, 4, "cancelled")  /* and it is not tried again */                        \
    X(SUCCEEDED, 5, "succeeded")                                                         \
    X(STATUS, 6, "http_status")   /* the target answered with `number` */                \
    X(UNANSWERED, 7, "no_answer") /* the target did not answer, or could not be asked */

enum attempt_end {
#define X(NAME, number, word) ATTEMPT_##NAME = number,
    ATTEMPT_ENDS(X)
#undef X
};

#define ATTEMPTS_KEPT   8   /* attempts of a task that are kept: the newest; besides them its end is shown */
#define ATTEMPT_REASON  200 /* bytes of the worker's reason */

struct attempt {
    uint32_t no;           /* 1: the first; 0: it ended before one began */
    uint8_t end;           /* enum attempt_end, or a newer one */
    uint32_t number;       /* HTTP status of the end; 0: none */
    msec_t started, ended; /* started 0: not known, or it never did */
    msec_t again;          /* the next one not before; 0: there is none */
    uint32_t reason_len;
    const char *reason; /* borrowed; not 0-terminated */
};

/* "ended" of one that is not known here. */
const char *attempt_end_word(unsigned end);

#endif
