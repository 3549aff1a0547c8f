/* redis_link.h: one connection (redis_conn.h) to the Redis that leads, kept up. Shell.
 *
 *   WAIT --> [SENTINEL: who is master?] --> [NAME] --> CONNECT --> HELLO --> UP
 *     ^      one sentinel after the other                          AUTH, SELECT, ROLE, INFO, PING
 *     '------- any failure; back-off with jitter <----------------'
 *
 * Goes wrong, and then:
 *   nobody there, connect or answer takes too long   next address; back-off
 *   LOADING, BUSY, not the master, MASTERDOWN        the same; it will be over
 *   READONLY, MOVED (it was the master until now)    next address, or the one it names
 *   wrong password, no permission; no TLS, or a      the same, at the slowest back-off
 *   certificate that one end does not take
 *   OOM, MISCONF, WRONGTYPE, other errors            the command has failed
 *   what is not Redis' protocol                      the link is closed
 *
 * Every fault is counted by its kind. The log has the first one of a kind, and then one a
 * minute, with what an operator can do.
 *
 * Addresses: "host:port", or "/path" of a local socket. A name is asked for when it is dialled
 * (common/net/hosts.h: nothing blocks); if it has several addresses, one is tried after the other.
 * With TLS all of them have it, sentinels, too.
 * Callbacks come from the loop, never from inside a call of ours. */
#ifndef SEGQ_REDIS_LINK_H
#define SEGQ_REDIS_LINK_H

#include "common/base/err.h"
#include "common/net/ev.h"
#include "common/base/metrics.h"
#include "common/redis/redis_ans.h"

struct tls_ctx;

struct redis_opts {
    char *const *addr; /* tried in turn; copied */
    size_t n_addrs;
    char *const *sentinel; /* if any: they are asked for the master; copied */
    size_t n_sentinels;
    const char *master;          /* name of the master there; copied, like all below */
    const char *user, *password; /* NULL or "": none */
    struct tls_ctx *const *tls;  /* looked at when it dials, so that it may change; NULL, or one to
                                    NULL: without */
    int db;
    uint32_t connect_ms, answer_ms;
    uint64_t seed;
};

struct redis_link;

/* uptime_ms: how long that server runs, -1 if it does not say. */
struct redis_calls {
    void (*on_up)(void *ctx, int64_t uptime_ms);
    void (*on_down)(void *ctx); /* after on_up; every open command has been answered GONE */
};

/* Dials until freed. */
SQ_CHECK int redis_link_new(struct redis_link **out, struct ev *ev,
                            const struct redis_opts *o, const struct redis_calls *calls,
                            void *ctx, struct err *e);
void redis_link_free(struct redis_link *l); /* calls nobody back; NULL is fine */
bool redis_link_up(const struct redis_link *l);

/* Sends it; fn is called once. SQ_EUNAVAIL: the link is not up; SQ_ENOMEM. */
SQ_CHECK int redis_send(struct redis_link *l, const struct redis_args *a, redis_fn fn,
                        void *ctx);
/* The caller's judgement of an answer: counted, logged if new. */
void redis_link_fault(struct redis_link *l, enum redis_fault f, const char *text);

struct redis_counts {
    uint64_t fault[REDIS_NFAULTS]; /* by kind; NONE is not used */
    uint64_t commands, connects;   /* connects: that came up */
};
const struct redis_counts *redis_link_counts(const struct redis_link *l);
const char *redis_link_addr(const struct redis_link *l); /* now, or last dialled */

#endif
