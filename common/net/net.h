/* net.h: TCP sockets as this cluster wants them: non-blocking, close-on-exec, no Nagle,
 * keep-alive, and given up when the other end acknowledges nothing: for 50 s where it has dialled, for 21 s
 * where we have. Lost probes of a quiet connection, two in a row, do it no harm.
 * Addresses are "host:port": "10.0.0.1:80", "[::1]:80", "*:80" and ":80" (any address).
 */
#ifndef SEGQ_NET_H
#define SEGQ_NET_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "common/base/base.h"
#include "common/base/err.h"
#include "common/base/ip.h"

#define NET_TEXT_MAX 64 /* "[v6]:port" and a 0 */

struct net_addr {
    union {
        struct sockaddr sa;
        struct sockaddr_in in4;
        struct sockaddr_in6 in6;
    };
    socklen_t len; /* 0: none */
};

/* Cuts "host:port" in two; the host without brackets, "" for any. SQ_EINVAL. */
SQ_CHECK int net_split(const char *text, char *host, size_t cap, uint16_t *port,
                       struct err *e);
/* Numeric addresses only, never asks a name server. SQ_EINVAL; SQ_EUNKNOWN: a name. */
SQ_CHECK int net_parse(struct net_addr *a, const char *text, struct err *e);
/* Also names. Blocks: at start-up only. */
SQ_CHECK int net_resolve(struct net_addr *a, const char *text, struct err *e);

/* A listening descriptor. reuse_port: several processes share the port. The options of
 * accepted sockets are inherited from it, so an accept costs one system call. */
SQ_CHECK int net_listen(const char *addr, bool reuse_port, int backlog, struct err *e);
/* A connection is reported when its first bytes are there (or after a second or so), which
 * saves a wake-up for each. Where that cannot be had, nothing changes. */
void net_defer_accept(int listen_fd);
/* A descriptor; SQ_EBUSY: nobody is waiting; SQ_EFULL: no descriptors or memory left
 * (stop accepting for a while, or the loop spins); SQ_ESYS: the listener is broken. */
SQ_CHECK int net_accept(int listen_fd, struct net_addr *peer);
/* A descriptor whose connect is under way: writable when decided, then net_error(). */
SQ_CHECK int net_connect(const struct net_addr *a, struct err *e);
int net_error(int fd); /* Takes SO_ERROR: 0 or an errno */
/* Says that something is sent every 15 s or so: then a peer is given up that does not acknowledge it for 10 s. */
void net_is_talked_to(int fd);
/* Bytes that were sent and that the other end has not acknowledged; 0 if that cannot be known. */
size_t net_unacked(int fd);

/* "ip:port", "[v6]:port"; v4-mapped v6 is shown as v4. "?" if there is none. */
void net_text(const struct net_addr *a, char out[NET_TEXT_MAX]);
void net_ip_text(const struct net_addr *a, char out[NET_TEXT_MAX]); /* without the port */
void net_local_text(int fd, char out[NET_TEXT_MAX]);
uint16_t net_port(const struct net_addr *a);
bool net_ip(const struct net_addr *a, struct ip *out); /* false: it is of another kind */

#endif
