/* verdict.h: what came of a request to a target: what follows (done, tried again, dead: the whole table), and
 * what it took. Pure.
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

/* Units that a call took, by its answer: the number at a pointer ("/usage/total_tokens") into the whole of
 * it, or into the last event of a stream that has it, read as it comes.
 *
 *   text/event-stream        each event (WHATWG, server-sent events: its lines of data) is a text of JSON
 *   application/x-ndjson, jsonl   each line is
 *   others                   all of it is
 *
 * Targets are strangers: pieces end anywhere, a text may be as long and as deep as it likes, and need not be
 * JSON. So nothing is kept but where in it we are: the depth, the names of the pointer that fit so far, a name
 * or a number that is being read. What is no number, below 0, or spelt with escapes in a name that matters is
 * not there; of two the later one counts. */

#define USAGE_NUMBER 64 /* bytes of a number; a longer one is none */

enum usage_kind { USAGE_NONE, USAGE_WHOLE, USAGE_LINES, USAGE_EVENTS };

struct usage {
    uint8_t kind; /* enum usage_kind */
    bool known;   /* `units` is the newest that a whole text has said */
    uint64_t units;
    char pointer[COST_POINTER_MAX + 1];
    struct usage_line { /* EVENTS: the line that is read */
        uint8_t n;      /* bytes of its field's name that are "data" so far; */
        bool other;     /* another field */
        bool value;     /* behind the colon */
        bool empty;     /* nothing of it has come */
        bool cr;        /* the byte before was a CR: a LF belongs to it */
    } line;
    struct usage_text { /* the text of JSON that is read */
        uint32_t depth;    /* objects and lists that are open */
        uint32_t level;    /* depth of the object whose names are looked at, */
        uint16_t at;       /* for the one that begins here in `pointer` */
        uint16_t read;     /* bytes of a name that fit */
        bool string, escape, name; /* in a string; behind a backslash; the string is a name of that object */
        bool wants_name;   /* a name of it comes next */
        bool fits;         /* the name does, so far */
        bool value;        /* the value behind the name that fits comes next */
        bool found;
        uint64_t units;
        uint8_t n;         /* bytes of the number that is read */
        char number[USAGE_NUMBER];
    } text;
};

/* pointer "": nothing is read. type: Content-Type of the answer. */
void usage_begin(struct usage *u, const char *pointer, const char *type);
void usage_more(struct usage *u, const void *p, size_t n);
/* The answer is whole. False: it has not said it. */
bool usage_end(struct usage *u, uint64_t *units);

#endif
