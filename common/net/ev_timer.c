/* ev_timer.c: timers that are never early and cheap to put off.
 *
 * `due_us` is the truth; libevent (or, below 2 ms, a timerfd) only has to wake us no
 * later than that. A wake-up that comes before `due_us` asks for the rest. So a deadline
 * that is pushed back with every request costs one comparison, and one wake-up per old
 * deadline. libevent's own clock is the coarse one (4 ms) and its waits are whole
 * milliseconds: hence the timerfd for short waits, instead of
 * EVENT_BASE_FLAG_PRECISE_TIMER, which pays a system call in every turn. */
#include "common/net/ev_timer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/net/ev_int.h"

#define SHORT_US 2000
#define NEVER_US INT64_MAX

struct ev_timer {
    struct ev *ev; /* ref */
    ev_fn fn;
    void *arg;
    bool exact;        /* this wait was asked for in microseconds */
    int64_t due_us;    /* NEVER_US: not armed */
    int64_t coarse_us; /* when libevent will wake us; NEVER_US: it will not */
    int64_t fine_us;   /* when the timerfd will */
    struct event *coarse;
    struct event *fine; /* NULL until the first short wait */
    int fine_fd;
};

static void wake(struct ev_timer *t);

static void on_coarse(evutil_socket_t fd, short what, void *arg)
{
    struct ev_timer *t = arg;

    (void)fd;
    (void)what;
    t->coarse_us = NEVER_US;
    wake(t);
}

static void on_fine(evutil_socket_t fd, short what, void *arg)
{
    struct ev_timer *t = arg;
    uint64_t times;

    (void)what;
    if (read(fd, &times, sizeof(times)) != (ssize_t)sizeof(times))
        return; /* set anew between the wake-up and this call: it will come again */
    t->fine_us = NEVER_US;
    wake(t);
}

struct ev_timer *ev_timer_new(struct ev *ev, ev_fn fn, void *arg)
{
    struct ev_timer *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    *t = (struct ev_timer){ .ev = ev, .fn = fn, .arg = arg, .fine_fd = -1 };
    t->due_us = t->coarse_us = t->fine_us = NEVER_US;
    t->coarse = event_new(ev->base, -1, 0, on_coarse, t);
    if (t->coarse == NULL) {
        free(t);
        return NULL;
    }
    return t;
}

void ev_timer_free(struct ev_timer *t)
{
    if (t == NULL)
        return;
    event_free(t->coarse);
    if (t->fine != NULL)
        event_free(t->fine);
    if (t->fine_fd >= 0)
        close(t->fine_fd);
    free(t);
}

static bool fine_open(struct ev_timer *t)
{
    if (t->fine != NULL)
        return true;
    t->fine_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (t->fine_fd < 0)
        return false;
    t->fine = event_new(t->ev->base, t->fine_fd, EV_READ | EV_PERSIST, on_fine, t);
    if (t->fine != NULL && event_add(t->fine, NULL) == 0)
        return true;
    if (t->fine != NULL)
        event_free(t->fine);
    t->fine = NULL;
    close(t->fine_fd);
    t->fine_fd = -1;
    return false;
}

/* false: no descriptor to be had; the coarse way is good enough then. */
static bool arm_fine(struct ev_timer *t)
{
    struct itimerspec its = { 0 };

    if (!fine_open(t))
        return false;
    its.it_value.tv_sec = t->due_us / 1000000;
    its.it_value.tv_nsec = t->due_us % 1000000 * 1000;
    if (timerfd_settime(t->fine_fd, TFD_TIMER_ABSTIME, &its, NULL) < 0)
        return false;
    t->fine_us = t->due_us;
    return true;
}

static void arm(struct ev_timer *t, int64_t now_us)
{
    int64_t wait_us = t->due_us > now_us ? t->due_us - now_us : 0;
    struct timeval tv;

    if (t->coarse_us <= t->due_us || t->fine_us <= t->due_us)
        return; /* will be woken in time, and look again */
    if (t->exact && wait_us > 0 && wait_us < SHORT_US && arm_fine(t))
        return;
    tv.tv_sec = wait_us / 1000000;
    tv.tv_usec = wait_us % 1000000;
    if (event_add(t->coarse, &tv) == 0)
        t->coarse_us = t->due_us;
}

static void wake(struct ev_timer *t)
{
    int64_t now_us = ev_now_us(t->ev);

    if (t->due_us == NEVER_US)
        return;
    if (t->due_us > now_us) {
        arm(t, now_us);
        return;
    }
    assert(t->fn != NULL);
    t->due_us = NEVER_US;
    t->fn(t->arg); /* may free t */
}

void ev_timer_at(struct ev_timer *t, msec_t when)
{
    t->exact = false;
    t->due_us = when >= NEVER_US / 1000 ? NEVER_US : when * 1000;
    if (t->due_us != NEVER_US)
        arm(t, ev_now_us(t->ev));
}

void ev_timer_in_us(struct ev_timer *t, int64_t us)
{
    t->exact = true;
    t->due_us = ev_now_us(t->ev) + us;
    arm(t, ev_now_us(t->ev));
}
