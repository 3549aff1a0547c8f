/* answer.h: what came of a request to a target: an answer, or why there is none. Pure, data only. */
#ifndef SEGQ_CALLS_ANSWER_H
#define SEGQ_CALLS_ANSWER_H

#include "common/base/base.h"
#include "common/task/call.h"
#include "common/task/rules.h"

/* name, word for people */
#define CALL_FAULTS(X)                                                                    \
    X(NONE, "")                                                                           \
    X(DNS, "dns")           /* the host has no address */                                 \
    X(REFUSED, "refused")   /* address that the endpoint may not reach */                 \
    X(CONNECT, "connect")                                                                 \
    X(TLS, "tls")           /* or its certificate is not good */                          \
    X(TIMEOUT, "timeout")   /* no whole answer before the deadline */                     \
    X(RESET, "reset")       /* the connection ended, or what came is no HTTP */           \
    X(TOO_LONG, "too_long") /* the answer */                                              \
    X(LOCAL, "local")       /* no memory or descriptors here, or not wanted any more: nothing was sent */

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
    struct call_span fields; /* the other header fields, those that are kept, packed (common/task/call.h); borrowed */
    bool fields_cut;         /* more than there was room for */
    const uint8_t *body; /* borrowed: the first n bytes, */
    uint32_t n;
    uint64_t length; /* of this many bytes */
    bool goes_on;    /* behind them: what follows was not read */
    uint8_t sha256[RESULT_SHA256]; /* hash of all of them; only if length > n */
    char why[96]; /* a fault in words */
};

#endif
