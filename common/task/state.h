/* state.h: the states of a task, which follows which, what may stop one that waits, by what its start
 * is reckoned, how long others waited, how attempts end, and where a chain of them is. Pure. */
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
    CLOSED_BUDGET = 8, /* not by the engine: its endpoint's part of a budget, */
    CLOSED_WINDOW = 16, /* or what is left of a calendar window; with CLOSED_RATE: of the queue or key */
};
#define CLOSED_BITS 5u

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

/* The bound that has no room for another task: name, word, words for people. */
#define TASK_FULLS(X)                                                                    \
    X(NONE, "", "")                                                                      \
    X(WAITING, "max_waiting", "the queue has max_waiting tasks that are not over")       \
    X(BYTES, "max_bytes", "payloads in the pool's partition have max_bytes")             \
    X(PART, "max_tasks", "the pool's partition has max_tasks tasks")                     \
    X(NAMES, "names", "the pool's partition remembers as many names and keys as it can") \
    X(NODE, "node_max_tasks", "the task node has max_tasks tasks")                       \
    X(DISK, "disk", "the task node's disk has no room")                                  \
    X(WAIT, "max_wait", "the wait would be longer than max_wait, as it is estimated now") \
    X(CHAINS, "chains", "the pool's partition keeps as much for tasks behind others (then) as it can") \
    X(GROUPS, "groups", "the pool's partition has as many groups as it may have")         \
    X(QUOTA, "on_quota", "its endpoint's rates are used up (on_quota: reject); what is larger than a burst never gets in") \
    X(UNITS, "max_waiting_units", "its queue has tasks of nearly max_waiting_units units that wait")

enum task_full {
#define X(NAME, word, says) FULL_##NAME,
    TASK_FULLS(X)
#undef X
    TASK_NFULLS
};

struct task_words { /* words of an API, and for people */
    const char *word, *says;
};
struct task_words task_hold_words(enum task_hold h);
struct task_words task_full_words(enum task_full f);

const char *task_state_word(enum task_state s);
bool task_state_may_follow(enum task_state from, enum task_state to);

/* Counts for max_waiting_units: no attempt is on its way, and one may come. */
static inline bool task_state_waits(enum task_state s)
{
    return s == TASK_SCHEDULED || s == TASK_WAITING || s == TASK_RETRYING;
}

static inline bool task_state_is_final(enum task_state s)
{
    return s >= TASK_SUCCEEDED;
}

/* ---- an attempt at a task, and how it ended ---- */

/* name, number in journals and on the wire (never another's), word for people */
#define ATTEMPT_ENDS(X)                                                                  \
    X(GIVEN_BACK, 1, "nack")      /* the worker gave it back, perhaps with a reason */   \
    X(LAPSED, 2, "lease_lapsed")  /* the worker said nothing until its lease ended */    \
    X(EXPIRED, 3, "expired")      /* none: it waited for longer than task_ttl */         \
    X(CANCELLED, 4, "cancelled")  /* and it is not tried again */                        \
    X(SUCCEEDED, 5, "succeeded")                                                         \
    X(STATUS, 6, "http_status")   /* the target answered with `number` */                \
    X(UNANSWERED, 7, "no_answer") /* the target did not answer, or could not be asked */ \
    X(INTERRUPTED, 8, "interrupted") /* amid an answer of which its caller had a part */

enum attempt_end {
#define X(NAME, number, word) ATTEMPT_##NAME = number,
    ATTEMPT_ENDS(X)
#undef X
};

#define ATTEMPTS_KEPT   8   /* attempts of a task that are kept: the newest; besides them its end is shown */
#define ATTEMPT_REASON  200 /* bytes of the worker's reason */
#define PROGRESS_TEXT   200 /* bytes of what a worker says of its progress, */
#define PROGRESS_DATA   1024 /* and of its JSON */

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

/* ---- by what it is reckoned when a task starts ---- */

/* name, word for people */
#define TASK_ETAS(X)                                                                     \
    X(UNSAID, "")                  /* does not wait */                                \
    X(DELAY, "delay")              /* until then its delay or back-off runs; then its line */ \
    X(PACE, "pace")                /* pace of its queue in the last minute */       \
    X(RATE, "rate")                /* a rate lets it start no earlier */                 \
    X(CONCURRENCY, "max_concurrent") /* not known: as many run as may */                 \
    X(PAUSED, "paused")            /* not known: by the operator */                      \
    X(NO_WORKER, "no_worker")      /* not known: none has been taken in the last minute */ \
    X(ENDPOINT, "endpoint_down")   /* not known: its target is not well */               \
    X(ADAPTIVE, "adaptive")        /* not known: as many calls as its target bears */     \
    X(TRIPPED, "endpoint_tripped") /* not known: an operator has stopped its endpoint */ \
    X(SERVICE, "service")          /* word of the operator's own service (eta_url) */

enum task_eta {
#define X(NAME, word) TASK_ETA_##NAME,
    TASK_ETAS(X)
#undef X
    TASK_NETAS
};

/* ---- chains -------------------------------------------------------------------------- */

/* Tasks one behind the other (`then` of a submission): how far a task's next one is, and
 * why it does not come; bounds. */
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

/* ---- how long tasks waited ----------------------------------------------------------- */

/* Waits of tasks, counted by powers of two of milliseconds: counts of many nodes add up, and a
 * quantile of their sum is one of all of them. */

#define WAITS_BUCKETS 28 /* 0: under a millisecond; i: under 2^i ms; the last: all others */
#define WAITS_BYTES   (WAITS_BUCKETS * 10) /* packed */

struct waits {
    uint64_t n[WAITS_BUCKETS];
};

void waits_add(struct waits *w, msec_t ms);
void waits_join(struct waits *w, const struct waits *more);
/* Packs it; bytes, 0 where nothing is counted. */
size_t waits_pack(const struct waits *w, uint8_t out[WAITS_BYTES]);
/* False: these are no packed counts; then all are 0. */
SQ_CHECK bool waits_unpack(struct waits *w, const uint8_t *p, size_t n);
/* The wait in ms that a part q of them (0.5, 0.99) did not exceed; NAN: nothing is counted. */
double waits_quantile(const struct waits *w, double q);

#endif
