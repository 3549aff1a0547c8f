/* ev.c: the turns of a loop: one wait in its epoll, what is due, posts, hooks.
 *
 * The kernel keeps a pointer for each descriptor; ev_io_end() takes back what is due but not yet
 * told, so a callback may end any of them.
 *
 * libevent is a guest, for its HTTP client and its questions to name servers: while it has
 * something to wait for, it is asked in each turn, and turns come GUEST_US apart or sooner. Nobody
 * else pays for it. */
#define _GNU_SOURCE 1 /* epoll_pwait2 */
#include "common/net/ev.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/list.h"
#include "common/base/log.h"

#define LOG_MODULE     "ev"
#define POSTS_AT_START 256
#define GUEST_US       5000
#define MS_MAX         3600000 /* turns come by themselves once in a while */
#define SHARED_MS      100     /* between the moments that ev_timer_about() means */
#define EV_READY_MAX   512     /* descriptors that one turn takes; the others are not forgotten */

struct ev_call {
    ev_fn fn;
    void *arg;
    int rank; /* rank of a hook */
};

struct ev {
    struct ev_clock clock; /* first: ev.h reads it */
    struct event_base *guest; /* owned; NULL until somebody asks for it */
    int epfd;
    bool in_ms; /* the kernel has no epoll_pwait2() */
    struct epoll_event ready[EV_READY_MAX];
    int at, n_ready;    /* ready[at..n_ready): of this turn, still to be told */
    struct list timers; /* ev_timer.in, by due_us */
    uint64_t armings;   /* armings of timers, ever */
    msec_t began_ms;    /* shared moments are counted from it: processes do not wake together */
    bool stop;
    bool in_hooks;
    struct ev_call *posts, *running; /* owned */
    size_t n_posts, cap_posts, cap_running;
    struct ev_call *hooks; /* owned, by rank */
    size_t n_hooks;
    struct ev_io *wake;     /* owned: reads what signal handlers have written; NULL: no signals */
};

_Static_assert(offsetof(struct ev, clock) == 0, "a loop begins with its clock");

/* ---- clock: read when somebody first asks in a turn, then kept until its end ---- */

static int64_t read_us(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t ev_read_mono_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t ev_read_wall_ms(void)
{
    return read_us(CLOCK_REALTIME) / 1000;
}

/* The questions take a const ev: an answer is remembered behind its back. */
void ev_read_clock(const struct ev *cev)
{
    struct ev *ev = (struct ev *)(uintptr_t)cev;

    ev->clock.mono_us = ev_read_mono_us();
    ev->clock.mono_ms = ev->clock.mono_us / 1000;
    ev->clock.wall_ms = ev_read_wall_ms();
    ev->clock.stale = false;
}

/* ---- descriptors ---- */

void ev_io_init(struct ev_io *io, struct ev *ev, int fd, ev_io_fn fn, void *arg)
{
    assert(fd >= 0 && fn != NULL);
    *io = (struct ev_io) { .ev = ev, .fd = fd, .fn = fn, .arg = arg };
}

int ev_io_change(struct ev_io *io, unsigned what)
{
    struct epoll_event e = { .events = (what & EV_IO_READ ? EPOLLIN : 0u) |
                                       (what & EV_IO_WRITE ? EPOLLOUT : 0u) |
                                       (what & EV_IO_GONE ? EPOLLRDHUP : 0u),
                             .data.ptr = io };
    int op = what == 0 ? EPOLL_CTL_DEL : io->what == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

    assert((what & ~(EV_IO_READ | EV_IO_WRITE | EV_IO_GONE)) == 0 && io->what != what);
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
           ((events & EPOLLIN ? EV_IO_READ : 0) | (events & EPOLLOUT ? EV_IO_WRITE : 0) |
            (events & EPOLLRDHUP ? EV_IO_GONE : 0));
}

/* Waits us at most (0: not at all, INT64_MAX: for ever), and tells what came. */
static void run_ios(struct ev *ev, int64_t us)
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

/* ---- timers: a list in the order of their moments. There are some dozens in a
 * process, and most are armed behind all others. ---- */

struct ev_timer {
    struct ev *ev; /* ref */
    void (*fn)(void *arg);
    void *arg;
    struct list_node in; /* ev.timers, while it is armed */
    int64_t due_us;      /* monotonic */
    uint64_t armed;      /* by ev.armings */
};

static struct ev_timer *first(const struct ev *ev)
{
    return list_entry(list_first(&ev->timers), struct ev_timer, in);
}

struct ev_timer *ev_timer_new(struct ev *ev, void (*fn)(void *arg), void *arg)
{
    struct ev_timer *t = calloc(1, sizeof(*t));

    assert(fn != NULL);
    if (t != NULL)
        *t = (struct ev_timer) { .ev = ev, .fn = fn, .arg = arg };
    return t;
}

static void disarm(struct ev_timer *t)
{
    if (list_linked(&t->in))
        list_remove(&t->ev->timers, &t->in);
}

void ev_timer_free(struct ev_timer *t)
{
    if (t == NULL)
        return;
    disarm(t);
    free(t);
}

/* Behind those of the same moment. What was due before now is due now: so one that arms itself
 * anew is behind all that wait. */
static void arm(struct ev_timer *t, int64_t due_us)
{
    struct ev *ev = t->ev;
    struct list_node *at = &ev->timers.head;

    disarm(t);
    t->due_us = ev_now_us(ev) > due_us ? ev_now_us(ev) : due_us;
    t->armed = ++ev->armings;
    do
        at = at->prev;
    while (at != &ev->timers.head && container_of(at, struct ev_timer, in)->due_us > t->due_us);
    list_insert_after(&ev->timers, at, &t->in);
}

void ev_timer_at(struct ev_timer *t, msec_t when)
{
    if (when >= INT64_MAX / 1000)
        disarm(t);
    else
        arm(t, when * 1000);
}

void ev_timer_in_us(struct ev_timer *t, int64_t us)
{
    arm(t, ev_now_us(t->ev) + us);
}

void ev_timer_about(struct ev_timer *t, msec_t in_ms)
{
    msec_t when = ev_now(t->ev) + in_ms - t->ev->began_ms;

    if (in_ms >= SHARED_MS)
        when = (when + SHARED_MS / 2) / SHARED_MS * SHARED_MS;
    ev_timer_at(t, t->ev->began_ms + when);
}

/* When the first one is due, by the monotonic clock; INT64_MAX: none is armed. */
static int64_t timers_due(const struct ev *ev)
{
    const struct ev_timer *t = first(ev);

    return t != NULL ? t->due_us : INT64_MAX;
}

/* Timers armed meanwhile wait for the next turn. */
static void run_timers(struct ev *ev)
{
    uint64_t last = ev->armings;
    struct ev_timer *t;

    if (ev->timers.n == 0)
        return;
    while ((t = first(ev)) != NULL && t->due_us <= ev_now_us(ev) && t->armed <= last) {
        disarm(t);
        t->fn(t->arg); /* may free t */
    }
}

/* ---- signals: a handler only notes which one it was, and wakes the loop by an eventfd ---- */

static volatile sig_atomic_t came[NSIG]; /* and not told yet */
static volatile sig_atomic_t wake_fd = -1;

static struct { /* signals: of one loop in a process */
    ev_fn fn;   /* NULL: nobody asked for it */
    void *arg;
    struct sigaction before; /* ev_signal() */
} on_signo[NSIG];

static void handler(int signo)
{
    static const uint64_t one = 1;
    int was = errno;

    came[signo] = 1;
    (void)!write(wake_fd, &one, sizeof(one));
    errno = was;
}

static void on_wake(void *arg, unsigned what)
{
    uint64_t n;

    (void)arg, (void)what;
    (void)!read(wake_fd, &n, sizeof(n));
    for (int i = 1; i < NSIG; i++)
        if (came[i] && on_signo[i].fn != NULL) {
            came[i] = 0;
            on_signo[i].fn(on_signo[i].arg);
        }
}

static void forget_wake(struct ev *ev)
{
    ev_io_free(ev->wake);
    ev->wake = NULL;
    if (wake_fd >= 0)
        close(wake_fd);
    wake_fd = -1;
}

static bool have_wake(struct ev *ev)
{
    if (ev->wake != NULL)
        return true;
    assert(wake_fd == -1);
    wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ev->wake = wake_fd >= 0 ? ev_io_new(ev, wake_fd, on_wake, ev) : NULL;
    if (ev->wake != NULL && ev_io_set(ev->wake, EV_IO_READ) == 0)
        return true;
    forget_wake(ev);
    return false;
}

int ev_signal(struct ev *ev, int signo, void (*fn)(void *arg), void *arg)
{
    struct sigaction act = { .sa_handler = handler, .sa_flags = SA_RESTART };

    assert(signo > 0 && signo < NSIG && on_signo[signo].fn == NULL);
    sigfillset(&act.sa_mask);
    if (!have_wake(ev) || sigaction(signo, &act, &on_signo[signo].before) < 0)
        return SQ_ENOMEM;
    on_signo[signo].fn = fn;
    on_signo[signo].arg = arg;
    return 0;
}

/* All are as they were before. */
static void end_signals(struct ev *ev)
{
    if (ev->wake == NULL)
        return;
    for (int i = 1; i < NSIG; i++)
        if (on_signo[i].fn != NULL) {
            (void)sigaction(i, &on_signo[i].before, NULL);
            on_signo[i].fn = NULL;
            came[i] = 0;
        }
    forget_wake(ev);
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

static bool guest_waits(const struct ev *ev)
{
    return ev->guest != NULL &&
           event_base_get_num_events(ev->guest,
                                     EVENT_BASE_COUNT_ADDED | EVENT_BASE_COUNT_ACTIVE) > 0;
}

/* How long the next turn may wait; INT64_MAX: for ever. */
static int64_t wait_us(const struct ev *ev)
{
    int64_t due = timers_due(ev), wait = INT64_MAX;

    if (due != INT64_MAX) {
        wait = due - ev_read_mono_us();
        wait = wait > 0 ? wait : 0;
    }
    if (wait > GUEST_US && guest_waits(ev))
        wait = GUEST_US;
    return wait;
}

void ev_turn(struct ev *ev, bool wait)
{
    int64_t us = wait && ev->n_posts == 0 ? wait_us(ev) : 0;

    ev->clock.stale = true;
    run_ios(ev, us);
    run_timers(ev);
    if (guest_waits(ev) && event_base_loop(ev->guest, EVLOOP_ONCE | EVLOOP_NONBLOCK) < 0)
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

/* ---- life ---- */

int ev_new(struct ev **out, struct err *e)
{
    struct ev *ev = calloc(1, sizeof(*ev));

    if (ev != NULL) {
        list_init(&ev->timers);
        ev->epfd = epoll_create1(EPOLL_CLOEXEC);
        ev->posts = calloc(POSTS_AT_START, sizeof(*ev->posts));
        ev->running = calloc(POSTS_AT_START, sizeof(*ev->running));
        ev->cap_posts = ev->cap_running = POSTS_AT_START;
        ev->clock.stale = true;
        ev->began_ms = ev_read_mono_us() / 1000;
    }
    if (ev == NULL || ev->epfd < 0 || ev->posts == NULL || ev->running == NULL) {
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
    end_signals(ev);
    if (ev->guest != NULL)
        event_base_free(ev->guest);
    if (ev->epfd >= 0)
        close(ev->epfd);
    free(ev->posts);
    free(ev->running);
    free(ev->hooks);
    free(ev);
}

struct event_base *ev_base(struct ev *ev)
{
    struct event_config *cfg = ev->guest == NULL ? event_config_new() : NULL;

    if (cfg != NULL) {
        event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
        event_config_set_flag(cfg, EVENT_BASE_FLAG_IGNORE_ENV);
        ev->guest = event_base_new_with_config(cfg);
        event_config_free(cfg);
    }
    return ev->guest;
}
