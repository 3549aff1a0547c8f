/* redis_ans.h: what Redis answers: its values, and its errors as kinds of faults. Pure. */
#ifndef SEGQ_REDIS_ANS_H
#define SEGQ_REDIS_ANS_H

#include "common/base/base.h"

/* name, label, is the link of no use any more?, what the operator can do */
#define REDIS_FAULTS(X)                                                                  \
    X(NONE, "none", false, "")                                                           \
    /* no link, or it broke before the answer */                                         \
    X(GONE, "gone", true, "nothing, if it was restarted: it is dialled again")           \
    X(CONNECT, "connect", true, "start Redis, or mend redis (redis_sentinels)")          \
    X(TIMEOUT, "timeout", true, "look what keeps Redis busy: SLOWLOG, its disk, memory") \
    /* NOAUTH, WRONGPASS, NOPERM */                                                      \
    X(AUTH, "auth", true, "mend redis_user, redis_password_file or the user's rights")   \
    X(LOADING, "loading", true, "nothing: Redis reads its data and will answer")         \
    X(READONLY, "readonly", true, "nothing, if it fails over; else mend redis")          \
    /* it is a replica, or nobody knows who is master */                                 \
    X(MASTER, "not_master", true, "nothing, if it fails over; else mend redis")          \
    X(MOVED, "moved", true, "nothing: the node that it names is asked")                  \
    X(ASK, "ask", false, "nothing: it is over when its slot has moved")                  \
    /* a script runs, or the cluster is down */                                          \
    X(BUSY, "busy", false, "SCRIPT KILL if a script hangs; mend the Redis cluster")      \
    /* it cannot write its disk */                                                       \
    X(MISCONF, "misconf", false, "give Redis room on its disk; its own log says why")    \
    X(OOM, "oom", false, "give Redis memory: maxmemory")                                 \
    X(NOREPLICAS, "noreplicas", false, "start replicas; or redis_wait_replicas")         \
    X(NOSCRIPT, "noscript", false, "use a Redis that has scripts")                       \
    /* WRONGTYPE, or an answer of another shape */                                       \
    X(TYPE, "type", false, "somebody else uses these keys: another redis_prefix")        \
    /* not an answer of Redis at all */                                                  \
    X(PROTOCOL, "protocol", true, "mend redis: this is no Redis, or it wants TLS")       \
    X(OTHER, "other", false, "see what it says")
enum redis_fault {
#define X(name, text, fatal, hint) REDIS_##name,
    REDIS_FAULTS(X)
#undef X
        REDIS_NFAULTS
};
const char *redis_fault_name(enum redis_fault f);
bool redis_fault_fatal(enum redis_fault f); /* the link is of no use any more */
const char *redis_fault_hint(enum redis_fault f); /* what an operator can do */

/* An answer, valid during the callback: one value, or a list of values. */
struct redis_ans {
    enum redis_fault fault; /* NONE: the rest is good */
    const char *text;       /* of the error; "" */
    const void *reply;
};
typedef void (*redis_fn)(void *ctx, const struct redis_ans *a);
size_t redis_ans_n(const struct redis_ans *a); /* 1 if it is no list */
/* The i-th, or false: there is none, or it is of another type. */
bool redis_ans_int(const struct redis_ans *a, size_t i, int64_t *out);
bool redis_ans_text(const struct redis_ans *a, size_t i, const char **p, size_t *n);

/* Of hiredis' reply (not NULL): an error by its first word. */
struct redis_ans redis_ans_of(const void *reply);
/* "MOVED slot host:port" -> "host:port"; "" if it says something else. */
void redis_moved_to(const char *text, char *out, size_t cap);

#endif
