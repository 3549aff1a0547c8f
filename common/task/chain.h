/* chain.h: tasks one behind the other (`then` of a submission): how far a task's next one is, and
 * why it does not come; bounds. Pure. */
#ifndef SEGQ_COMMON_TASK_CHAIN_H
#define SEGQ_COMMON_TASK_CHAIN_H

#include "common/base/base.h"

#define CHAIN_DEPTH      8            /* tasks behind one, one behind the other */
#define CHAIN_MAX        (32u << 10)  /* bytes of all of them, encoded */
#define CHAIN_BODY_MAX   (128u << 10) /* bytes of a payload with results in it */
#define CHAINS_BYTES_MAX (64u << 20)  /* bytes to be submitted, of a partition; likewise, on its way */

/* name, word. Numbers are those of records and of the wire: never changed; new ones at the end. */
#define CHAIN_STATES(X)                                                                  \
    X(NONE, "")           /* no task is behind it */                                     \
    X(WAITS, "waiting")   /* for its success */                                          \
    X(SENT, "sent")       /* succeeded; the queue of the next has not taken it yet */ \
    X(BEGUN, "submitted") /* the next is there */                                        \
    X(FAILED, "failed")   /* succeeded, and the next cannot be */                 \
    X(ENDED, "ended")     /* not succeeded: the chain ends with it */

enum chain_state {
#define X(NAME, word) CHAIN_##NAME,
    CHAIN_STATES(X)
#undef X
    CHAIN_NSTATES
};

/* name, word: why a chain has failed. Likewise. */
#define CHAIN_WHYS(X)                                                                    \
    X(UNSAID, "")                                                                        \
    X(NO_RESULT, "no_result")        /* none is there, or kept */                  \
    X(TRUNCATED, "result_truncated") /* longer than what is kept of it */          \
    X(NO_JSON, "result_no_json")                                                         \
    X(NOTHING, "result_pointer")     /* a pointer finds nothing in it, or two of a name */ \
    X(TOO_LARGE, "payload_too_large") /* with the results in it */                       \
    X(REFUSED, "refused")            /* by its queue, for ever */                        \
    X(NO_ROOM, "no_room")            /* too many are on their way */

enum chain_why {
#define X(NAME, word) CHAIN_WHY_##NAME,
    CHAIN_WHYS(X)
#undef X
    CHAIN_NWHYS
};

/* "": not known here. */
const char *chain_state_word(unsigned state);
const char *chain_why_word(unsigned why);

/* Payload of a task of a chain: bits. */
enum chain_form { CHAIN_CALL = 1, CHAIN_HOLES = 2 };

#endif
