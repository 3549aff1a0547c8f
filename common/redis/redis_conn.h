/* redis_conn.h: a connection to a Redis on our loop, with TLS or without: commands out, replies in.
 * Shell.
 *
 *   CONNECTING --> [SHAKING: TLS] --> OPEN --> ENDED
 *
 * hiredis formats the commands and reads the replies; the socket is ours. Its redisAsyncContext is
 * not used, since the one of Debian 12 (0.14.1) has no TLS (that came with 1.0, and there only
 * over OpenSSL's own sockets), asks the name server while all else waits, and keeps neither the
 * time limits of our sockets nor a bound on what a server may send.
 *
 * With TLS no byte leaves before the server's certificate has been checked, so neither does a
 * password. Commands leave together at the next turn. A reply may have redis_conn.most bytes,
 * and its arrays an element for every 16 of them. Replies come in the order of the commands; who
 * asked what is the caller's business. */
#ifndef SEGQ_REDIS_CONN_H
#define SEGQ_REDIS_CONN_H

#include "common/base/base.h"
#include "common/base/err.h"
#include "common/net/ev.h"
#include "common/net/hosts.h"
#include "common/net/net.h"
#include "common/redis/redis_ans.h"

/* The address to dial next: the servers of the configuration in turn; or its
 * sentinels in turn, and the master that one of them names; or the node that MOVED names. Then the
 * numbers of that address.
 *
 * "host:port", or "/path" of a local socket. */

#define REDIS_ADDR_BYTES 128

struct redis_turn { /* a list; `at` grows for ever */
    char **v;       /* owned, and each of them */
    size_t n, at;
};

struct redis_addrs {
    struct redis_turn servers, sentinels;
    char next[REDIS_ADDR_BYTES]; /* named by MOVED or a sentinel; "" = none */
    char now[REDIS_ADDR_BYTES];  /* dialled last */
};

/* Copies both lists into *a, which is zero. SQ_ENOMEM: redis_addrs_free() is due all the same. */
SQ_CHECK int redis_addrs_init(struct redis_addrs *a, char *const *server, size_t n_servers,
                              char *const *sentinel, size_t n_sentinels);
void redis_addrs_free(struct redis_addrs *a);
/* The next address becomes a->now. True: a sentinel's. */
bool redis_addrs_dial(struct redis_addrs *a);
/* "MOVED slot host:port": that is dialled next; a node that does not know its own host says
 * ":port", of the host that was asked. */
void redis_addrs_moved(struct redis_addrs *a, const char *error);
/* A sentinel's answer: that is dialled next. False: it is too long. */
bool redis_addrs_named(struct redis_addrs *a, const char *ip, size_t n_ip, const char *port,
                       size_t n_port);

/* The addresses that a configured one means: itself, if it is a number; else those of its name, one
 * after the other. Nothing blocks (common/net/hosts.h). */
struct redis_find { /* a part of its owner */
    struct hosts hosts;
    struct host_question *question; /* NULL: none is under way */
    struct host_answer found;
    unsigned at; /* number of them taken already */
    /* They are there, or a->why says why not. Not from inside redis_find(). */
    void (*on_found)(void *arg, const struct host_answer *a);
    void *arg;
};

void redis_find_init(struct redis_find *f, struct ev *ev,
                     void (*on_found)(void *arg, const struct host_answer *a), void *arg);
void redis_find_fini(struct redis_find *f);
/* "host:port". 1: they are there; 0: on_found will be called; SQ_EINVAL, SQ_EUNAVAIL. */
SQ_CHECK int redis_find(struct redis_find *f, const char *addr, struct err *e);
/* Whatever was found, or asked, does not count any more. */
void redis_find_forget(struct redis_find *f);
/* NULL: there is no further one. */
const struct net_addr *redis_find_next(struct redis_find *f);
bool redis_find_has_more(const struct redis_find *f);

struct tls_ctx;
struct redis_conn;

struct redis_conn_calls { /* from the loop; each may free the connection */
    void (*on_open)(void *ctx);
    void (*on_reply)(void *ctx, const struct redis_ans *a); /* a is valid during the call */
    /* The end; nothing but redis_conn_free() may follow. */
    void (*on_end)(void *ctx, enum redis_fault f, const char *why);
};

struct redis_conn_opts {
    const struct net_addr *addr; /* NULL: the local socket at `name` */
    const char *name;            /* "host:port": the certificate is for that host */
    struct tls_ctx *tls;         /* NULL: without; used during redis_conn_new() only */
};

/* Begins to connect. */
SQ_CHECK int redis_conn_new(struct redis_conn **out, struct ev *ev, const struct redis_conn_opts *o,
                   const struct redis_conn_calls *calls, void *ctx, struct err *e);
/* Calls nobody back; also from inside a callback. NULL is fine. */
void redis_conn_free(struct redis_conn *c);
/* When it is open. SQ_ENOMEM: nothing of it was taken. */
SQ_CHECK int redis_conn_send(struct redis_conn *c, const struct redis_args *a);
/* Largest reply from now on; at first REDIS_HELLO_MOST. */
void redis_conn_allow(struct redis_conn *c, size_t most);
/* During the handshake of TLS: a server that says nothing may not know it. */
bool redis_conn_is_shaking(const struct redis_conn *c);

#define REDIS_HELLO_MOST (1u << 20)   /* bytes of a reply before the server has said who it is */
#define REDIS_REPLY_MOST (512u << 20) /* proto-max-bulk-len of Redis */

#endif
