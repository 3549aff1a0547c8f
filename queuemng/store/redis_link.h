/* redis_link.h: one connection to the Redis that leads, kept up over hiredis on our loop.
 * Shell.
 *
 *   WAIT --> [SENTINEL: who is master?] --> CONNECT --> HELLO --> UP
 *     ^      one sentinel after the other               AUTH, SELECT, ROLE, INFO, PING
 *     '------- any failure; back-off with jitter <---------'
 *
 * Goes wrong, and then:
 *   nobody there, connect or answer takes too long   next address; back-off
 *   LOADING, BUSY, not the master, MASTERDOWN        the same; it will be over
 *   READONLY, MOVED (it was the master until now)    next address, or the one it names
 *   wrong password, no permission                    the same, at the slowest back-off
 *   OOM, MISCONF, WRONGTYPE, other errors            the command has failed
 *   what is not Redis' protocol                      the link is closed
 *
 * Every fault is counted by its kind. The log has the first one of a kind, and then one a
 * minute, with what an operator can do.
 *
 * Addresses: "host:port", or "/path" of a local socket. A name is looked up when it is
 * dialled, which blocks: numbers, or names of the hosts file, are better. No TLS: over a
 * network that is not one's own, use a tunnel.
 * Callbacks come from the loop, never from inside a call of ours. */
#ifndef SEGQ_REDIS_LINK_H
#define SEGQ_REDIS_LINK_H

#include "common/base/err.h"
#include "common/net/ev.h"
#include "common/base/metrics.h"

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

struct redis_opts {
    char *const *addr; /* tried in turn; copied */
    size_t n_addrs;
    char *const *sentinel; /* if any: they are asked for the master; copied */
    size_t n_sentinels;
    const char *master;          /* its name there; copied, like all below */
    const char *user, *password; /* NULL or "": none */
    int db;
    uint32_t connect_ms, answer_ms;
    uint64_t seed;
};

struct redis_link;

/* uptime_ms: how long that server runs, -1 if it does not say. */
struct redis_calls {
    void (*on_up)(void *ctx, int64_t uptime_ms);
    void (*on_down)(
        void *ctx); /* after on_up; every open command has been answered GONE */
};

/* Dials until freed. */
SQ_CHECK int redis_link_new(struct redis_link **out, struct ev *ev,
                            const struct redis_opts *o, const struct redis_calls *calls,
                            void *ctx, struct err *e);
void redis_link_free(struct redis_link *l); /* calls nobody back; NULL is fine */
bool redis_link_up(const struct redis_link *l);

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

struct redis_args { /* of one command; grows; fill with redis_arg_*() */
    const char **v;
    size_t *len, n, cap;
    uint64_t
        answer_bytes; /* if the answer may be large: about how much; it gets more time */
    bool failed;
};
void redis_args_fini(struct redis_args *a);
void redis_arg(struct redis_args *a, const char *p, size_t n); /* borrowed until sent */
void redis_arg_str(struct redis_args *a, const char *s);
/* Sends it; fn is called once. SQ_EUNAVAIL: the link is not up; SQ_ENOMEM. */
SQ_CHECK int redis_send(struct redis_link *l, const struct redis_args *a, redis_fn fn,
                        void *ctx);
/* What the caller has found out about an answer: counted, logged if new. */
void redis_link_fault(struct redis_link *l, enum redis_fault f, const char *text);

struct redis_counts {
    uint64_t fault[REDIS_NFAULTS]; /* by kind; NONE is not used */
    uint64_t commands, connects;   /* connects: that came up */
};
const struct redis_counts *redis_link_counts(const struct redis_link *l);
const char *redis_link_addr(const struct redis_link *l); /* now, or last dialled */

#endif
