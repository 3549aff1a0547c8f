/* conns.c: level-triggered epoll, one receive per event, one send per request.
 *
 *   CLOSED --ask--> CONNECTING --writable--> ASKED --answer--> FREE --ask--> ASKED
 * On loopback a connection is there when connect() returns, so the request is sent at once
 * and CONNECTING is passed over: three system calls to open, ask and wait. */
#include "tests/bench/load/conns.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/load/reply.h"
#include "tests/bench/swarm/now.h"

#define IN_MAX          65536
#define WATCHED         UINT32_MAX /* instead of a connection's number */
#define CONNECT_WAIT_MS 5000

enum conn_state {
    CONN_CLOSED,     /* no descriptor */
    CONN_FREE,
    CONN_CONNECTING, /* `out` is sent when it is writable */
    CONN_ASKED
};

struct conn {
    int fd;
    enum conn_state state;
    int64_t from_us, sent_us;
    char *out;       /* owned; while connecting */
    size_t out_len;
    struct reply reply;
};

struct conns {
    struct conns_opts o;
    int ep;
    int watched;     /* ref; -1: none */
    bool watched_closed;
    struct conn *v;  /* owned; o.n of them */
    char in[IN_MAX];
};

/* ---- one connection ---- */

static void hang_up(struct conn *k)
{
    if (k->fd >= 0)
        close(k->fd); /* leaves the epoll set, too */
    free(k->out);
    k->out = NULL;
    k->fd = -1;
    k->state = CONN_CLOSED;
}

static int dial(const struct conns *c, struct conn *k)
{
    const struct net_addr *a = &c->o.addr;

    k->fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (k->fd < 0)
        return SQ_ECLOSED;
    if (connect(k->fd, &a->sa, a->len) == 0 || errno == EINPROGRESS)
        return 0;
    hang_up(k);
    return SQ_ECLOSED;
}

static int want(struct conns *c, struct conn *k, int op, uint32_t events)
{
    struct epoll_event ev = { .events = events, .data.u32 = (uint32_t)(k - c->v) };

    return epoll_ctl(c->ep, op, k->fd, &ev) == 0 ? 0 : SQ_ECLOSED;
}

static int put_off(struct conn *k, const char *text, size_t n)
{
    k->out = malloc(n);
    if (k->out == NULL)
        return SQ_ENOMEM;
    memcpy(k->out, text, n);
    k->out_len = n;
    k->state = CONN_CONNECTING;
    return 0;
}

/* A request is far smaller than any socket's buffer and alone in it: a part that is left
 * over means that something is wrong with the connection. */
static bool send_all(const struct conn *k, const char *text, size_t n)
{
    return send(k->fd, text, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static int ask_new(struct conns *c, struct conn *k, const char *text, size_t n)
{
    int rc = dial(c, k);

    if (rc < 0)
        return rc;
    k->state = CONN_ASKED;
    if (send_all(k, text, n)) {
        rc = want(c, k, EPOLL_CTL_ADD, EPOLLIN);
    } else {
        rc = errno == EAGAIN ? put_off(k, text, n) : SQ_ECLOSED;
        if (rc == 0)
            rc = want(c, k, EPOLL_CTL_ADD, EPOLLOUT);
    }
    if (rc < 0)
        hang_up(k);
    return rc < 0 ? SQ_ECLOSED : 0;
}

int conns_ask(struct conns *c, uint32_t i, const char *text, size_t n, int64_t from_us,
              int64_t now)
{
    struct conn *k = &c->v[i];

    k->from_us = from_us;
    k->sent_us = now;
    reply_start(&k->reply);
    if (k->state == CONN_FREE) {
        k->state = CONN_ASKED;
        if (send_all(k, text, n))
            return 0;
        hang_up(k); /* the server closed it meanwhile: nothing was asked yet */
    }
    return ask_new(c, k, text, n);
}

/* ---- what happens to it ---- */

static struct conns_end ended(const struct conns *c, const struct conn *k, enum ending how)
{
    return (struct conns_end){ .conn = (uint32_t)(k - c->v), .status = k->reply.status,
                               .how = how, .from_us = k->from_us, .done_us = now_us() };
}

/* The connect is decided: true, if badly, and the request is over. */
static bool on_writable(struct conns *c, struct conn *k, struct conns_end *end)
{
    if (net_error(k->fd) != 0 || !send_all(k, k->out, k->out_len) ||
        want(c, k, EPOLL_CTL_MOD, EPOLLIN) < 0) {
        *end = ended(c, k, ENDED_CONNECT);
        hang_up(k);
        return true;
    }
    free(k->out);
    k->out = NULL;
    k->state = CONN_ASKED;
    return false;
}

static bool on_bytes(struct conns *c, struct conn *k, size_t n, struct conns_end *end)
{
    int64_t taken = reply_feed(&k->reply, c->in, n);

    if (taken >= 0 && !reply_is_done(&k->reply))
        return false;
    *end = ended(c, k, taken == (int64_t)n ? ENDED_ANSWERED : ENDED_PROTOCOL);
    if (taken != (int64_t)n || c->o.close || k->reply.close)
        hang_up(k);
    else
        k->state = CONN_FREE;
    return true;
}

/* True if a request ended. */
static bool on_readable(struct conns *c, struct conn *k, struct conns_end *end)
{
    ssize_t n = recv(k->fd, c->in, IN_MAX, 0);
    bool asked = k->state == CONN_ASKED;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n > 0 && asked)
        return on_bytes(c, k, (size_t)n, end);
    if (asked)
        *end = ended(c, k, ENDED_CLOSED);
    hang_up(k); /* also if it was free: the next request opens it again */
    return asked;
}

static void on_watched(struct conns *c)
{
    char drop[4096];
    ssize_t n = read(c->watched, drop, sizeof(drop));

    if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)))
        return;
    c->watched_closed = true;
    epoll_ctl(c->ep, EPOLL_CTL_DEL, c->watched, NULL);
}

size_t conns_wait(struct conns *c, int64_t wait_us, struct conns_end end[CONNS_BATCH])
{
    struct timespec t = { .tv_sec = wait_us / 1000000,
                          .tv_nsec = wait_us % 1000000 * 1000 };
    struct epoll_event ev[CONNS_BATCH];
    int n = epoll_pwait2(c->ep, ev, CONNS_BATCH, wait_us >= 0 ? &t : NULL, NULL);
    size_t ends = 0;

    for (int i = 0; i < n; i++) {
        struct conn *k;

        if (ev[i].data.u32 == WATCHED) {
            on_watched(c);
            continue;
        }
        k = &c->v[ev[i].data.u32];
        ends += k->state == CONN_CONNECTING ? on_writable(c, k, &end[ends])
                                            : on_readable(c, k, &end[ends]);
    }
    return ends;
}

static bool has_request(const struct conn *k)
{
    return k->state == CONN_ASKED || k->state == CONN_CONNECTING;
}

/* Looks at all of them, a few times a second: cheaper than a timer for each. */
size_t conns_overdue(struct conns *c, int64_t now, struct conns_end end[CONNS_BATCH])
{
    size_t ends = 0;

    for (uint32_t i = 0; i < c->o.n && ends < CONNS_BATCH; i++) {
        struct conn *k = &c->v[i];

        if (!has_request(k) || now - k->sent_us < c->o.timeout_us)
            continue;
        end[ends++] = ended(c, k, k->state == CONN_ASKED ? ENDED_TIMEOUT : ENDED_CONNECT);
        hang_up(k);
    }
    return ends;
}

int64_t conns_next_asked(const struct conns *c, uint32_t from, int64_t *from_us)
{
    for (uint32_t i = from; i < c->o.n; i++) {
        if (!has_request(&c->v[i]))
            continue;
        *from_us = c->v[i].from_us;
        return i;
    }
    return -1;
}

/* ---- all of them ---- */

static int connect_one(struct conns *c, struct conn *k)
{
    struct pollfd p = { .events = POLLOUT };

    if (dial(c, k) < 0)
        return SQ_ECLOSED;
    p.fd = k->fd;
    if (poll(&p, 1, CONNECT_WAIT_MS) != 1) {
        errno = ETIMEDOUT;
        return SQ_ECLOSED;
    }
    errno = net_error(k->fd);
    if (errno != 0 || want(c, k, EPOLL_CTL_ADD, EPOLLIN) < 0)
        return SQ_ECLOSED;
    k->state = CONN_FREE;
    return 0;
}

/* With `close` the first one shows that somebody is there; it is not used for more. */
static int connect_all(struct conns *c, struct err *e)
{
    uint32_t n = c->o.close ? 1 : c->o.n;
    char text[NET_TEXT_MAX];

    for (uint32_t i = 0; i < n; i++)
        if (connect_one(c, &c->v[i]) < 0) {
            net_text(&c->o.addr, text);
            return err_set(e, SQ_ECLOSED, "connection %u to %s: %s", i + 1, text,
                           strerror(errno));
        }
    if (c->o.close)
        hang_up(&c->v[0]);
    return 0;
}

int conns_new(struct conns **out, const struct conns_opts *o, struct err *e)
{
    struct conns *c = calloc(1, sizeof(*c));
    int rc = SQ_ENOMEM;

    if (c == NULL)
        return err_set(e, SQ_ENOMEM, "connections");
    c->o = *o;
    c->watched = -1;
    c->ep = epoll_create1(EPOLL_CLOEXEC);
    c->v = calloc(o->n, sizeof(*c->v));
    if (c->v == NULL || c->ep < 0) {
        rc = err_set(e, SQ_ENOMEM, "connections");
        goto fail;
    }
    for (uint32_t i = 0; i < o->n; i++)
        c->v[i].fd = -1;
    rc = connect_all(c, e);
    if (rc < 0)
        goto fail;
    *out = c;
    return 0;
fail:
    conns_free(c);
    return rc;
}

void conns_free(struct conns *c)
{
    if (c == NULL)
        return;
    for (uint32_t i = 0; c->v != NULL && i < c->o.n; i++)
        hang_up(&c->v[i]);
    if (c->ep >= 0)
        close(c->ep);
    free(c->v);
    free(c);
}

int conns_watch(struct conns *c, int fd)
{
    struct epoll_event ev = { .events = EPOLLIN, .data.u32 = WATCHED };

    c->watched = fd;
    return epoll_ctl(c->ep, EPOLL_CTL_ADD, fd, &ev) == 0 ? 0 : SQ_EINVAL;
}

bool conns_watched_closed(const struct conns *c)
{
    return c->watched_closed;
}
