/* targetrig.h: a target in the test's own loop: it takes connections, remembers what it was sent,
 * and answers with the text that the test gave it. */
#ifndef SEGQ_TESTS_TARGETRIG_H
#define SEGQ_TESTS_TARGETRIG_H

#include "tests/lib/criterion.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/net/ev.h"
#include "common/net/net.h"

#define TARGET_CONNS 64

struct target_conn {
    struct targetrig *rig;
    struct ev_io *io; /* NULL: there is none */
    int fd;
    struct buf in;
    const char *left; /* of the answer, what is still to be sent: */
    size_t left_n;
};

struct targetrig {
    struct ev *ev;
    int fd;
    struct ev_io *io;
    char addr[NET_TEXT_MAX];
    const char *answer; /* NULL: it hangs */
    size_t answer_n;    /* 0: strlen */
    bool closes;        /* behind its answer, or (without one) behind the request; */
    bool resets;        /* then without a farewell */
    size_t step;        /* so many bytes of it each turn; 0: all at once */
    bool drips;         /* behind it a byte each turn, and no end */
    bool hasty;         /* it answers when the head is there */
    unsigned connections, requests, closed;
    char last[8192];    /* the request */
    const void *expects; /* bodies that end with these bytes are counted */
    size_t expects_n;
    unsigned right;
    struct target_conn conn[TARGET_CONNS];
};

static inline void target_hang_up(struct target_conn *c)
{
    const struct linger at_once = { .l_onoff = 1 };

    if (c->io == NULL)
        return;
    ev_io_free(c->io);
    if (c->rig->resets)
        (void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(c->fd);
    buf_fini(&c->in);
    c->io = NULL;
    c->rig->closed++;
}

/* The bytes of a whole request in front; 0: there is none. */
static inline size_t target_request(const struct buf *b, bool hasty)
{
    const char *p = (const char *)b->data;
    const char *end = b->len > 0 ? memmem(p, b->len, "\r\n\r\n", 4) : NULL, *length;
    size_t n;

    if (end == NULL)
        return 0;
    n = (size_t)(end - p) + 4;
    length = memmem(p, n, "Content-Length: ", 16);
    n += length != NULL && !hasty ? strtoul(length + 16, NULL, 10) : 0;
    return b->len >= n ? n : 0;
}

/* As much as goes now; the rest when there is room. */
static inline void target_say(struct target_conn *c)
{
    size_t step = c->rig->step, n = step > 0 && step < c->left_n ? step : c->left_n;
    ssize_t sent = n > 0 ? send(c->fd, c->left, n, MSG_NOSIGNAL) : 0;

    if (sent < 0 && errno != EAGAIN) {
        target_hang_up(c);
        return;
    }
    c->left += sent > 0 ? sent : 0;
    c->left_n -= sent > 0 ? (size_t)sent : 0;
    if (c->left_n == 0 && c->rig->closes)
        target_hang_up(c);
    else
        cr_assert_eq(ev_io_set(c->io, EV_IO_READ | (c->left_n > 0 || c->rig->drips ? EV_IO_WRITE : 0)), 0);
}

static inline void target_heard(struct target_conn *c, size_t n)
{
    struct targetrig *r = c->rig;

    r->requests++;
    r->right += r->expects != NULL && n > r->expects_n &&
                memcmp(c->in.data + n - r->expects_n, r->expects, r->expects_n) == 0;
    memcpy(r->last, c->in.data, n < sizeof(r->last) ? n : sizeof(r->last) - 1);
    r->last[n < sizeof(r->last) ? n : sizeof(r->last) - 1] = 0;
    buf_consume(&c->in, n);
    c->left = r->answer;
    c->left_n = r->answer == NULL ? 0 : r->answer_n != 0 ? r->answer_n : strlen(r->answer);
    target_say(c);
}

static inline void target_on_io(void *arg, unsigned what)
{
    struct target_conn *c = arg;
    uint8_t *to = buf_reserve(&c->in, 65536);
    ssize_t n;
    size_t len;

    if ((what & EV_IO_WRITE) && c->left_n > 0) {
        target_say(c);
        return;
    }
    if (what & EV_IO_WRITE) {
        if (send(c->fd, "x", 1, MSG_NOSIGNAL) != 1 && errno != EAGAIN)
            target_hang_up(c);
        return;
    }
    n = recv(c->fd, to, 65536, 0);
    if (n <= 0) {
        target_hang_up(c);
        return;
    }
    c->in.len += (size_t)n;
    len = target_request(&c->in, c->rig->hasty);
    if (len > 0)
        target_heard(c, len);
}

static inline void target_on_accept(void *arg, unsigned what)
{
    struct targetrig *r = arg;
    struct net_addr peer;
    int fd = net_accept(r->fd, &peer);

    (void)what;
    if (fd < 0)
        return;
    r->connections++;
    for (unsigned i = 0; i < TARGET_CONNS; i++) {
        struct target_conn *c = &r->conn[i];

        if (c->io != NULL)
            continue;
        *c = (struct target_conn){ .rig = r, .fd = fd, .io = ev_io_new(r->ev, fd, target_on_io, c) };
        buf_init(&c->in);
        cr_assert_eq(ev_io_set(c->io, EV_IO_READ), 0);
        return;
    }
    close(fd);
}

static inline void target_init(struct targetrig *r, struct ev *ev)
{
    struct err e = { 0 };

    *r = (struct targetrig){ .ev = ev };
    r->fd = net_listen("127.0.0.1:0", false, 64, &e);
    cr_assert_geq(r->fd, 0, "%s", e.text);
    net_local_text(r->fd, r->addr);
    r->io = ev_io_new(ev, r->fd, target_on_accept, r);
    cr_assert_eq(ev_io_set(r->io, EV_IO_READ), 0);
}

/* It takes no more connections; those that it has stay. */
static inline void target_deafen(struct targetrig *r)
{
    if (r->io == NULL)
        return;
    ev_io_free(r->io);
    close(r->fd);
    r->io = NULL;
}

static inline void target_fini(struct targetrig *r)
{
    for (unsigned i = 0; i < TARGET_CONNS; i++)
        target_hang_up(&r->conn[i]);
    target_deafen(r);
}

#endif
