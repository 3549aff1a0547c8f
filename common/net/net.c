/* net.c: sockets and their addresses as text. */
#define _GNU_SOURCE 1 /* accept4 */
#include "common/net/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/text.h"

/* ---- text to address ---- */

static int bad(struct err *e, const char *text)
{
    return err_set(e, SQ_EINVAL, "\"%.80s\" is not host:port", text);
}

/* Where the colon before the port is; the host is [*host, *host + *len). */
static const char *find_port(const char *text, const char **host, size_t *len)
{
    const char *colon = strrchr(text, ':');

    if (colon == NULL)
        return NULL;
    *host = text;
    *len = (size_t)(colon - text);
    if (*text == '[') {
        if (*len < 2 || colon[-1] != ']')
            return NULL;
        *host += 1;
        *len -= 2;
    } else if (memchr(text, ':', *len) != NULL) {
        return NULL; /* v6 without brackets: where would the port begin? */
    }
    return colon + 1;
}

int net_split(const char *text, char *host, size_t cap, uint16_t *port, struct err *e)
{
    const char *h, *digits;
    size_t len;
    int64_t v = -1;

    digits = find_port(text, &h, &len);
    if (digits != NULL && strlen(digits) <= 5 && len < cap)
        v = decimal_read(digits, strlen(digits), 65535);
    if (v < 0)
        return bad(e, text);
    if (len == 1 && *h == '*')
        len = 0;
    memcpy(host, h, len);
    host[len] = '\0';
    *port = (uint16_t)v;
    return 0;
}

static bool numeric(struct net_addr *a, const char *host, uint16_t port)
{
    memset(a, 0, sizeof(*a));
    if (*host == '\0' || inet_pton(AF_INET, host, &a->in4.sin_addr) == 1) {
        a->in4.sin_family = AF_INET;
        a->in4.sin_port = htons(port);
        a->len = sizeof(a->in4);
        return true;
    }
    if (inet_pton(AF_INET6, host, &a->in6.sin6_addr) == 1) {
        a->in6.sin6_family = AF_INET6;
        a->in6.sin6_port = htons(port);
        a->len = sizeof(a->in6);
        return true;
    }
    return false;
}

int net_parse(struct net_addr *a, const char *text, struct err *e)
{
    char host[256];
    uint16_t port;
    int rc = net_split(text, host, sizeof(host), &port, e);

    if (rc < 0)
        return rc;
    if (!numeric(a, host, port))
        return err_set(e, SQ_EUNKNOWN, "\"%s\" is not a numeric address", host);
    return 0;
}

int net_resolve(struct net_addr *a, const char *text, struct err *e)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    char host[256];
    uint16_t port;
    int rc = net_split(text, host, sizeof(host), &port, e);

    if (rc < 0 || numeric(a, host, port))
        return rc;
    rc = getaddrinfo(host, NULL, &hints, &found);
    if (rc != 0)
        return err_set(e, SQ_EUNAVAIL, "%s: %s", host, gai_strerror(rc));
    memset(a, 0, sizeof(*a));
    if (found->ai_addrlen <= sizeof(a->in6)) {
        memcpy(&a->in6, found->ai_addr, found->ai_addrlen);
        a->len = found->ai_addrlen;
    }
    freeaddrinfo(found);
    if (a->sa.sa_family == AF_INET)
        a->in4.sin_port = htons(port);
    else
        a->in6.sin6_port = htons(port);
    return a->len != 0 ? 0 : err_set(e, SQ_EUNAVAIL, "%s: odd address", host);
}

/* ---- address to text ---- */

uint16_t net_port(const struct net_addr *a)
{
    return ntohs(a->sa.sa_family == AF_INET6 ? a->in6.sin6_port : a->in4.sin_port);
}

bool net_ip(const struct net_addr *a, struct ip *out)
{
    if (a->len == 0 || (a->sa.sa_family != AF_INET && a->sa.sa_family != AF_INET6))
        return false;
    memset(out, 0, sizeof(*out));
    if (a->sa.sa_family == AF_INET6) {
        memcpy(out->b, &a->in6.sin6_addr, 16);
        return true;
    }
    out->b[10] = out->b[11] = 0xff;
    memcpy(out->b + 12, &a->in4.sin_addr, 4);
    return true;
}

static bool is_plain_v6(const struct net_addr *a)
{
    return a->sa.sa_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&a->in6.sin6_addr);
}

void net_ip_text(const struct net_addr *a, char out[NET_TEXT_MAX])
{
    const void *ip = &a->in4.sin_addr;
    int family = AF_INET;

    if (is_plain_v6(a)) {
        ip = &a->in6.sin6_addr;
        family = AF_INET6;
    } else if (a->sa.sa_family == AF_INET6) {
        ip = &a->in6.sin6_addr.s6_addr[12];
    }
    if (a->len == 0 || inet_ntop(family, ip, out, NET_TEXT_MAX) == NULL)
        memcpy(out, "?", 2);
}

void net_text(const struct net_addr *a, char out[NET_TEXT_MAX])
{
    char ip[NET_TEXT_MAX];

    net_ip_text(a, ip);
    if (a->len == 0)
        memcpy(out, "?", 2);
    else
        snprintf(out, NET_TEXT_MAX, is_plain_v6(a) ? "[%.45s]:%u" : "%.45s:%u", ip,
                 net_port(a));
}

void net_local_text(int fd, char out[NET_TEXT_MAX])
{
    struct net_addr a = { .len = sizeof(a.in6) };

    if (getsockname(fd, &a.sa, &a.len) < 0)
        a.len = 0;
    net_text(&a, out);
}

/* ---- sockets ---- */

static void set_opt(int fd, int level, int name, int v)
{
    /* Refused options make a slower socket, not a broken one. */
    (void)setsockopt(fd, level, name, &v, sizeof(v));
}

/* The kernel measures the last of them from the last byte that was heard, also of a quiet connection: unless it
 * is above what several probes take, one that is lost is the end. */
struct patience {
    int idle_s, probe_s, all_ms;
};

static const struct patience with_clients = { 30, 5, 50000 }, with_servers = { 10, 3, 21000 };

static void tune(int fd, const struct patience *p, int later_s)
{
    set_opt(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_opt(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_opt(fd, IPPROTO_TCP, TCP_KEEPIDLE, p->idle_s + later_s);
    set_opt(fd, IPPROTO_TCP, TCP_KEEPINTVL, p->probe_s);
    set_opt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, p->all_ms);
}

void net_is_talked_to(int fd)
{
    set_opt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 10000);
}

int net_listen(const char *addr, bool reuse_port, int backlog, struct err *e)
{
    struct net_addr a;
    int fd, rc = net_resolve(&a, addr, e);

    if (rc < 0)
        return err_wrap(e, "listen");
    fd = socket(a.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(e, SQ_ESYS, "listen %s: %s", addr, strerror(errno));
    set_opt(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (reuse_port)
        set_opt(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (a.sa.sa_family == AF_INET6)
        set_opt(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    tune(fd, &with_clients, 0);
    if (bind(fd, &a.sa, a.len) < 0 || listen(fd, backlog) < 0) {
        rc = err_set(e, SQ_ESYS, "listen %s: %s", addr, strerror(errno));
        close(fd);
        return rc;
    }
    return fd;
}

void net_defer_accept(int listen_fd)
{
    set_opt(listen_fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, 1);
}

/* Errors of the connection that was just taken from the queue, not of the listener. */
static bool is_peer_error(int err)
{
    return err == EINTR || err == ECONNABORTED || err == EPROTO || err == ENETDOWN ||
           err == ENETUNREACH || err == EHOSTUNREACH || err == EHOSTDOWN ||
           err == EPERM || err == ETIMEDOUT;
}

int net_accept(int listen_fd, struct net_addr *peer)
{
    for (unsigned tries = 0; tries < 16; tries++) {
        int fd;

        peer->len = sizeof(peer->in6);
        fd = accept4(listen_fd, &peer->sa, &peer->len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            return fd;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return SQ_EBUSY;
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            return SQ_EFULL;
        if (!is_peer_error(errno))
            return SQ_ESYS;
    }
    return SQ_EBUSY; /* level triggered: we shall be called again */
}

int net_connect(const struct net_addr *a, struct err *e)
{
    char text[NET_TEXT_MAX];
    int fd, rc;

    net_text(a, text);
    fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(e, errno == EMFILE || errno == ENFILE ? SQ_EFULL : SQ_ESYS,
                       "connect %s: %s", text, strerror(errno));
    tune(fd, &with_servers, fd % 5); /* not all that begin together probe together: a crowd of packets is lost */
    if (connect(fd, &a->sa, a->len) == 0 || errno == EINPROGRESS || errno == EINTR)
        return fd;
    rc = err_set(e, SQ_ESYS, "connect %s: %s", text, strerror(errno));
    close(fd);
    return rc;
}

int net_error(int fd)
{
    int err = 0;
    socklen_t len = sizeof(err);

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0 ? errno : err;
}

size_t net_unacked(int fd)
{
    int n = 0;

    return ioctl(fd, SIOCOUTQ, &n) < 0 || n < 0 ? 0 : (size_t)n;
}
