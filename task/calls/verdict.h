/* verdict.h: what came of a request to a target, and what follows: done, tried again, dead. Pure:
 * the whole table.
 *
 *   segq-command: abort, or webhook-delivery: abort-message,
 *   or 489 with upstash-nonretryable-error: true          dead
 *   segq-command: retry=SECONDS                           tried again after so long
 *   202 with segq-command: pending=SECONDS                 it goes on for so long: the target says later
 *   2xx                                                   done
 *   408, 425, 429, 5xx, no answer                         tried again: Retry-After, or back-off
 *   3xx, other 4xx (410: the endpoint has gone)           dead
 *
 * A command goes before the status. */
#ifndef SEGQ_CALLS_VERDICT_H
#define SEGQ_CALLS_VERDICT_H

#include "common/task/call.h"
#include "common/task/rules.h"
#include "common/wire/msg_task_manager.h"

/* Why there is no answer; name, word for people */
#define CALL_FAULTS(X)                                                                    \
    X(NONE, "")                                                                           \
    X(DNS, "dns")           /* the host has no address */                                 \
    X(REFUSED, "refused")   /* address that the endpoint may not reach */                 \
    X(CONNECT, "connect")                                                                 \
    X(TLS, "tls")           /* or its certificate is not good */                          \
    X(TIMEOUT, "timeout")   /* no whole answer before the deadline */                     \
    X(RESET, "reset")       /* the connection ended, or what came is no HTTP */           \
    X(TOO_LONG, "too_long") /* the answer */                                              \
    X(LOCAL, "local")       /* no memory or descriptors here, or not wanted any more: nothing was sent */ \
    X(BODY, "body")         /* a large one cannot be read, or is damaged: its last bytes were not sent */

enum call_fault {
#define X(NAME, word) CALL_##NAME,
    CALL_FAULTS(X)
#undef X
    CALL_NFAULTS
};

#define ANSWER_TYPE_MAX 127 /* bytes of a Content-Type; a longer one is left out */

struct call_answer {
    enum call_fault fault;
    unsigned status; /* 100..999; 0: there was no answer */
    uint32_t ms;     /* from the send to the end */
    char type[ANSWER_TYPE_MAX + 1]; /* Content-Type; "": none */
    /* Header fields that say what is to be done; "": none, or too long. */
    char retry_after[64], command[64], delivery[64], upstash[16];
    char told[2 * TOLD_MAX][TOLD_SAID_MAX + 1]; /* fields that say what is left of quotas, each with its reset */
    char used[24]; /* likewise: the field that says how many units the call took */
    struct call_span fields; /* the other header fields, those that are kept, packed (common/task/call.h); borrowed */
    bool fields_cut;         /* more than there was room for */
    bool sized;              /* the target has said how many bytes its body has: */
    uint64_t says;
    const uint8_t *body; /* borrowed: the first n bytes, */
    uint32_t n;
    uint64_t length; /* number of all its bytes */
    bool goes_on;    /* behind them: what follows was not read */
    uint8_t sha256[RESULT_SHA256]; /* hash of all of them; only if length > n */
    char why[96]; /* a fault in words */
};

#define HOLD_MAX_MS    3600000  /* for so long at most Retry-After is obeyed */
#define PENDING_MAX_MS 43200000 /* a call goes on for so long at most, unless it is extended */

/* Classes of ends; name, word for people */
#define CALL_CLASSES(X)                                                                   \
    X(SUCCEEDED, "succeeded")                                                             \
    X(PENDING, "pending")       /* segq-command: pending */                               \
    X(ASKED, "retry_asked")     /* segq-command: retry */                                 \
    X(BUSY, "too_many")         /* 429 */                                                 \
    X(EARLY, "not_now")         /* 408, 425 */                                            \
    X(BROKEN, "server_error")   /* 5xx */                                                 \
    X(UNANSWERED, "no_answer")                                                            \
    X(ABORTED, "aborted")       /* segq-command: abort */                                 \
    X(REDIRECT, "redirect")     /* 3xx: never followed */                                 \
    X(GONE, "gone")             /* 410 */                                                 \
    X(PERMANENT, "permanent")   /* other 4xx, and what no final answer is */              \
    X(NO_CALL, "no_call")       /* the task is no request that may be made */

enum call_class {
#define X(NAME, word) CLASS_##NAME,
    CALL_CLASSES(X)
#undef X
    CALL_NCLASSES
};
const char *call_class_word(enum call_class c);
const char *call_fault_word(enum call_fault f);
/* Verdict without a question: the target has no part in it. */
static inline bool call_fault_is_ours(enum call_fault f)
{
    return f == CALL_LOCAL || f == CALL_REFUSED || f == CALL_BODY;
}

enum verdict_kind { VERDICT_DONE, VERDICT_PENDING, VERDICT_RETRY, VERDICT_DEAD };

struct verdict {
    enum verdict_kind kind;
    enum call_class class;
    uint32_t status; /* status of the answer; 0: none */
    int64_t delay_ms; /* PENDING: for so long. RETRY: after so long; -1: as the back-off says, */
    int64_t least_ms; /* but not before that */
    bool spared; /* RETRY: the attempt does not count: the target has not looked */
    bool excused; /* RETRY: nor, unless it is the task's last: the target was known not to be well */
    bool unsent; /* RETRY: no connection to this target: nothing was sent */
    bool elsewhere; /* RETRY: unsent, and another target of the endpoint takes it at once */
    bool failed; /* to the breaker: the endpoint is not well */
    int64_t hold_ms; /* nothing is sent to the endpoint for so long; 0: go on */
};

/* wall_ms: Unix time, for a Retry-After that names a moment. */
struct verdict verdict_of(const struct call_answer *a, int64_t wall_ms);

#endif
