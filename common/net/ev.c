/* ev.c: turns, posts and hooks around one libevent base. Timers are in ev_timer.c.
 *
 * libevent is asked for one round at a time (EVLOOP_ONCE), so that posts and hooks run
 * after everything that was due, and before we sleep again.
 * Clock: read when somebody first asks in a turn, then kept until the turn's end. */
#include "common/net/ev.h"
#include "common/base/grow.h"
#include "common/net/ev_int.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"

#define LOG_MODULE     "ev"
#define POSTS_AT_START 256

int ev_new(struct ev **out, struct err *e)
{
    struct ev *ev = calloc(1, sizeof(*ev));
    struct event_config *cfg = event_config_new();

    if (ev != NULL && cfg != NULL) {
        event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
        event_config_set_flag(cfg, EVENT_BASE_FLAG_IGNORE_ENV);
        ev->base = event_base_new_with_config(cfg);
        ev->posts = calloc(POSTS_AT_START, sizeof(*ev->posts));
        ev->running = calloc(POSTS_AT_START, sizeof(*ev->running));
        ev->cap_posts = ev->cap_running = POSTS_AT_START;
        ev->clock.stale = true;
    }
    if (cfg != NULL)
        event_config_free(cfg);
    if (ev == NULL || ev->base == NULL || ev->posts == NULL || ev->running == NULL) {
        ev_free(ev);
        return err_set(e, SQ_ENOMEM, "event loop: out of memory or descriptors");
    }
    *out = ev;
    return 0;
}

void ev_free(struct ev *ev)
{
    if (ev == NULL)
        return;
    while (ev->signals != NULL) {
        struct ev_sig *s = ev->signals;

        ev->signals = s->next;
        event_free(s->event);
        free(s);
    }
    if (ev->base != NULL)
        event_base_free(ev->base);
    free(ev->posts);
    free(ev->running);
    free(ev->hooks);
    free(ev);
}

struct event_base *ev_base(struct ev *ev)
{
    return ev->base;
}

/* ---- clock ---- */

static int64_t read_us(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static int64_t now_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t ev_read_wall_ms(void)
{
    return read_us(CLOCK_REALTIME) / 1000;
}

/* The questions take a const ev: that an answer is remembered is nobody's business. */
void ev_read_clock(const struct ev *cev)
{
    struct ev *ev = (struct ev *)(uintptr_t)cev;

    ev->clock.mono_us = read_us(CLOCK_MONOTONIC);
    ev->clock.mono_ms = ev->clock.mono_us / 1000;
    ev->clock.wall_ms = read_us(CLOCK_REALTIME) / 1000;
    ev->clock.stale = false;
}

/* ---- posts ---- */

void ev_post(struct ev *ev, ev_fn fn, void *arg)
{
    /* A post is a promise (a connection to be freed, a peer to be told): losing one would
     * leave the process in a state that nobody has thought of. */
    if (!GROW(ev->posts, ev->n_posts, ev->cap_posts, 64)) {
        log_error("event=no_memory what=post posts=%zu", ev->n_posts);
        abort();
    }
    ev->posts[ev->n_posts++] = (struct ev_call){ fn, arg, 0 };
}

/* Two arrays that change places: what is posted meanwhile goes into the other one. */
static void run_posts(struct ev *ev)
{
    struct ev_call *v = ev->posts;
    size_t n = ev->n_posts, cap = ev->cap_posts;

    ev->posts = ev->running;
    ev->cap_posts = ev->cap_running;
    ev->n_posts = 0;
    ev->running = v;
    ev->cap_running = cap;
    for (size_t i = 0; i < n; i++)
        v[i].fn(v[i].arg);
}

/* ---- hooks ---- */

int ev_hook(struct ev *ev, int rank, ev_fn fn, void *arg)
{
    struct ev_call *v = realloc(ev->hooks, (ev->n_hooks + 1) * sizeof(*v));
    size_t at;

    assert(!ev->in_hooks);
    if (v == NULL)
        return SQ_ENOMEM;
    ev->hooks = v;
    for (at = ev->n_hooks; at > 0 && v[at - 1].rank > rank; at--)
        v[at] = v[at - 1];
    v[at] = (struct ev_call){ fn, arg, rank };
    ev->n_hooks++;
    return 0;
}

static void sweep_hooks(struct ev *ev)
{
    size_t kept = 0;

    for (size_t i = 0; i < ev->n_hooks; i++)
        if (ev->hooks[i].fn != NULL)
            ev->hooks[kept++] = ev->hooks[i];
    ev->n_hooks = kept;
}

void ev_unhook(struct ev *ev, ev_fn fn, void *arg)
{
    for (size_t i = 0; i < ev->n_hooks; i++)
        if (ev->hooks[i].fn == fn && ev->hooks[i].arg == arg)
            ev->hooks[i].fn = NULL;
    if (!ev->in_hooks)
        sweep_hooks(ev);
}

static void run_hooks(struct ev *ev)
{
    ev->in_hooks = true;
    for (size_t i = 0; i < ev->n_hooks; i++)
        if (ev->hooks[i].fn != NULL)
            ev->hooks[i].fn(ev->hooks[i].arg);
    ev->in_hooks = false;
    sweep_hooks(ev);
}

/* ---- turns ---- */

void ev_turn(struct ev *ev, bool wait)
{
    int flags = EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY;

    if (!wait || ev->n_posts > 0)
        flags |= EVLOOP_NONBLOCK;
    else if (ev->calm.gap_us != 0)
        ev_calm_down(ev, now_us());
    ev->clock.stale = true;
    if (event_base_loop(ev->base, flags) < 0)
        log_error("event=loop_failed errno=%d", errno);
    run_posts(ev);
    run_hooks(ev);
}

void ev_run(struct ev *ev)
{
    while (!ev->stop)
        ev_turn(ev, true);
    ev->stop = false;
}

void ev_stop(struct ev *ev)
{
    ev->stop = true;
}

/* ---- signals ---- */

static void on_signal(evutil_socket_t signo, short what, void *arg)
{
    struct ev_sig *s = arg;

    (void)signo;
    (void)what;
    s->fn(s->arg);
}

int ev_signal(struct ev *ev, int signo, ev_fn fn, void *arg)
{
    struct ev_sig *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return SQ_ENOMEM;
    s->fn = fn;
    s->arg = arg;
    s->event = evsignal_new(ev->base, signo, on_signal, s);
    if (s->event == NULL || event_add(s->event, NULL) < 0) {
        if (s->event != NULL)
            event_free(s->event);
        free(s);
        return SQ_ENOMEM;
    }
    s->next = ev->signals;
    ev->signals = s;
    return 0;
}

/* ---- descriptors ---- */

struct ev_io {
    struct ev *ev; /* ref */
    struct event *event;
    int fd; /* ref */
    unsigned what;
    ev_io_fn fn;
    void *arg;
};

static void on_io(evutil_socket_t fd, short what, void *arg)
{
    struct ev_io *io = arg;

    (void)fd;
    io->fn(io->arg,
           (what & EV_READ ? EV_IO_READ : 0) | (what & EV_WRITE ? EV_IO_WRITE : 0));
}

struct ev_io *ev_io_new(struct ev *ev, int fd, ev_io_fn fn, void *arg)
{
    struct ev_io *io = calloc(1, sizeof(*io));

    assert(fd >= 0 && fn != NULL);
    if (io == NULL)
        return NULL;
    *io = (struct ev_io){ .ev = ev, .fd = fd, .fn = fn, .arg = arg };
    io->event = event_new(ev->base, fd, EV_PERSIST, on_io, io);
    if (io->event == NULL) {
        free(io);
        return NULL;
    }
    return io;
}

int ev_io_set(struct ev_io *io, unsigned what)
{
    short w = EV_PERSIST;

    assert((what & ~(unsigned)(EV_IO_READ | EV_IO_WRITE)) == 0);
    if (io->what == what)
        return 0;
    event_del(io->event);
    io->what = 0;
    if (what == 0)
        return 0;
    w |= (what & EV_IO_READ) ? EV_READ : 0;
    w |= (what & EV_IO_WRITE) ? EV_WRITE : 0;
    if (event_assign(io->event, io->ev->base, io->fd, w, on_io, io) < 0 ||
        event_add(io->event, NULL) < 0)
        return SQ_ESYS;
    io->what = what;
    return 0;
}

void ev_io_free(struct ev_io *io)
{
    if (io == NULL)
        return;
    event_free(io->event); /* deletes it; also takes back what is due but not yet run */
    free(io);
}
