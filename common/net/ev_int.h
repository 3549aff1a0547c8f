/* ev_int.h: the data of a loop. Only ev*.c include it. */
#ifndef SEGQ_EV_INT_H
#define SEGQ_EV_INT_H

#include <assert.h>
#include <signal.h>
#include <sys/epoll.h>

#include "common/base/list.h"
#include "common/net/ev.h"

#define EV_READY_MAX 512 /* descriptors that one turn takes; the others are not forgotten */

struct ev_call {
    ev_fn fn;
    void *arg;
    int rank; /* rank of a hook */
};

struct ev_sig {
    struct ev_sig *next;
    int signo;
    struct sigaction before; /* ev_signal() */
    ev_fn fn;
    void *arg;
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
    bool stop;
    bool in_hooks;
    struct ev_call *posts, *running; /* owned */
    size_t n_posts, cap_posts, cap_running;
    struct ev_call *hooks; /* owned, by rank */
    size_t n_hooks;
    struct ev_sig *signals; /* owned */
    struct ev_io *wake;     /* owned: reads what signal handlers have written; NULL: no signals */
};

_Static_assert(offsetof(struct ev, clock) == 0, "a loop begins with its clock");

#endif
