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

#include "common/net/ev.h"
#include "common/net/net.h"
#include "common/redis/redis_ans.h"

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
