/* redis_ans.h: commands to Redis and its answers: words, values, errors, and the faults that errors
 * mean. Pure. */
#ifndef SEGQ_REDIS_ANS_H
#define SEGQ_REDIS_ANS_H

#include "common/base/base.h"

/* Kinds of faults: name, label, does it end the link?, what an operator can do */
#define REDIS_FAULTS(X)                                                                  \
    X(NONE, "none", false, "")                                                           \
    /* no link, or it broke before the answer */                                         \
    X(GONE, "gone", true, "nothing, if it was restarted: it is dialled again")           \
    X(CONNECT, "connect", true, "start Redis, or mend redis (redis_sentinels)")          \
    X(TIMEOUT, "timeout", true, "look what keeps Redis busy: SLOWLOG, its disk, memory") \
    /* no handshake, or a certificate that one end does not take */                      \
    X(TLS, "tls", true, "mend redis_tls_* or the certificate of Redis")                   \
    /* NOAUTH, WRONGPASS, NOPERM */                                                      \
    X(AUTH, "auth", true, "mend redis_user, redis_password_file or the user's rights")   \
    X(LOADING, "loading", true, "nothing: Redis reads its data and will answer")         \
    X(READONLY, "readonly", true, "nothing, if it fails over; else mend redis")          \
    /* a replica, or an unknown master */                                                \
    X(MASTER, "not_master", true, "nothing, if it fails over; else mend redis")          \
    X(MOVED, "moved", true, "nothing: the node that it names is asked")                  \
    X(ASK, "ask", false, "nothing: it is over when its slot has moved")                  \
    /* a script runs, or the cluster is down */                                          \
    X(BUSY, "busy", false, "SCRIPT KILL if a script hangs; mend the Redis cluster")      \
    /* unable to write its disk */                                                       \
    X(MISCONF, "misconf", false, "give Redis room on its disk; its own log says why")    \
    X(OOM, "oom", false, "give Redis memory: maxmemory")                                 \
    X(NOREPLICAS, "noreplicas", false, "start replicas; or redis_wait_replicas")         \
    X(NOSCRIPT, "noscript", false, "use a Redis that has scripts")                       \
    /* WRONGTYPE, or an answer of another shape */                                       \
    X(TYPE, "type", false, "somebody else uses these keys: another redis_prefix")        \
    /* not an answer of Redis at all */                                                  \
    X(PROTOCOL, "protocol", true, "mend redis: this is no Redis, or set redis_tls")      \
    X(OTHER, "other", false, "see what it says")
enum redis_fault {
#define X(name, text, fatal, hint) REDIS_##name,
    REDIS_FAULTS(X)
#undef X
        REDIS_NFAULTS
};
const char *redis_fault_name(enum redis_fault f);
/* A fault of the link: it is of no use any more. Others, and AUTH after a good hello, concern one
 * command. */
bool redis_fault_ends_link(enum redis_fault f);
/* For operators: what they can do. */
const char *redis_fault_hint(enum redis_fault f);
/* By the first word of an error of Redis. */
enum redis_fault redis_fault_of(const char *error);

#define REDIS_FAULT_AGAIN_MS 60000 /* the same fault is logged again after this time */

/* The faults that the log has had: the first one of a kind, then one a minute. Zero = none. */
struct redis_faults {
    msec_t logged_ms[REDIS_NFAULTS]; /* 0: not since it was well */
};
/* True: it is to be logged now, as it is new, or was logged long ago. */
bool redis_fault_note(struct redis_faults *v, enum redis_fault f, msec_t now_ms);
/* Ends the faults of the link (of_link), or of single commands. True: some had been logged. */
bool redis_faults_over(struct redis_faults *v, bool of_link);

/* An answer, valid during the callback: one value, or a list of values. */
struct redis_ans {
    enum redis_fault fault; /* NONE: the rest is good */
    const char *text;       /* text of the error; "" */
    const void *reply;
};
typedef void (*redis_fn)(void *ctx, const struct redis_ans *a);
size_t redis_ans_n(const struct redis_ans *a); /* 1 if it is no list */
/* The i-th, or false: there is none, or it is of another type. */
bool redis_ans_int(const struct redis_ans *a, size_t i, int64_t *out);
bool redis_ans_text(const struct redis_ans *a, size_t i, const char **p, size_t *n);

/* Reads hiredis' reply (not NULL): an error by its first word. */
struct redis_ans redis_ans_of(const void *reply);

struct redis_args { /* a command, put together word by word with redis_arg_*(); grows */
    const char **v;
    size_t *len, n, cap;
    uint64_t answer_bytes; /* if the answer may be large: about how much; it gets more time */
    bool failed;
};
void redis_args_fini(struct redis_args *a);
void redis_arg(struct redis_args *a, const char *p, size_t n); /* borrowed until sent */
void redis_arg_str(struct redis_args *a, const char *s);

#endif
