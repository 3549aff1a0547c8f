/* ev_io.c: a loop's epoll: what is watched, one wait a turn, what it brought.
 *
 * The kernel keeps a pointer for each descriptor; ev_io_end() takes back what is due but not yet
 * told, so a callback may end any of them. */
#define _GNU_SOURCE 1 /* epoll_pwait2 */
#include "common/net/ev_io.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/net/ev_int.h"

#define LOG_MODULE "ev"
#define MS_MAX     3600000 /* turns come by themselves once in a while */

void ev_io_init(struct ev_io *io, struct ev *ev, int fd, ev_io_fn fn, void *arg)
{
    assert(fd >= 0 && fn != NULL);
    *io = (struct ev_io) { .ev = ev, .fd = fd, .fn = fn, .arg = arg };
}

int ev_io_change(struct ev_io *io, unsigned what)
{
    struct epoll_event e = { .events = (what & EV_IO_READ ? EPOLLIN : 0u) |
                                       (what & EV_IO_WRITE ? EPOLLOUT : 0u),
                             .data.ptr = io };
    int op = what == 0 ? EPOLL_CTL_DEL : io->what == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

    assert((what & ~(EV_IO_READ | EV_IO_WRITE)) == 0 && io->what != what);
    if (epoll_ctl(io->ev->epfd, op, io->fd, &e) < 0 && what != 0)
        return SQ_ESYS;
    io->what = what;
    return 0;
}

void ev_io_end(struct ev_io *io)
{
    struct ev *ev = io->ev;

    (void)!ev_io_set(io, 0);
    for (int i = ev->at; i < ev->n_ready; i++)
        if (ev->ready[i].data.ptr == io)
            ev->ready[i].data.ptr = NULL;
}

struct ev_io *ev_io_new(struct ev *ev, int fd, ev_io_fn fn, void *arg)
{
    struct ev_io *io = malloc(sizeof(*io));

    if (io != NULL)
        ev_io_init(io, ev, fd, fn, arg);
    return io;
}

void ev_io_free(struct ev_io *io)
{
    if (io == NULL)
        return;
    ev_io_end(io);
    free(io);
}

/* ---- a turn ---- */

static int wait_ms(struct ev *ev, int64_t us)
{
    int64_t ms = us / 1000 + (us % 1000 != 0); /* a timer is never early */

    return epoll_wait(ev->epfd, ev->ready, EV_READY_MAX, (int)(ms < MS_MAX ? ms : MS_MAX));
}

static int wait_for(struct ev *ev, int64_t us)
{
    struct timespec ts = { us / 1000000, us % 1000000 * 1000 };
    int n;

    if (us == 0 || ev->in_ms)
        return wait_ms(ev, us);
    n = epoll_pwait2(ev->epfd, ev->ready, EV_READY_MAX, us != INT64_MAX ? &ts : NULL, NULL);
    if (n >= 0 || errno == EINTR)
        return n;
    ev->in_ms = true; /* Linux before 5.11, or a sandbox that does not know it */
    return wait_ms(ev, us);
}

static unsigned heard(const struct ev_io *io, uint32_t events)
{
    if (events & (EPOLLERR | EPOLLHUP))
        return io->what;
    return io->what &
           ((events & EPOLLIN ? EV_IO_READ : 0) | (events & EPOLLOUT ? EV_IO_WRITE : 0));
}

void ev_ios_run(struct ev *ev, int64_t us)
{
    int n = wait_for(ev, us);

    assert(ev->at == ev->n_ready); /* no turn within a turn */
    if (n < 0 && errno != EINTR)
        log_error("event=loop_failed errno=%d", errno);
    ev->n_ready = n > 0 ? n : 0;
    for (ev->at = 0; ev->at < ev->n_ready;) {
        const struct epoll_event *e = &ev->ready[ev->at++];
        struct ev_io *io = e->data.ptr;
        unsigned what = io != NULL ? heard(io, e->events) : 0;

        if (what != 0)
            io->fn(io->arg, what);
    }
}
