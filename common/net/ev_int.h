/* ev_int.h: the data of a loop. Only ev*.c include it. */
#ifndef SEGQ_EV_INT_H
#define SEGQ_EV_INT_H

#include <assert.h>
#include <event2/event.h>

#include "common/net/ev.h"

struct ev_call {
    ev_fn fn;
    void *arg;
    int rank; /* of a hook */
};

struct ev_sig {
    struct ev_sig *next;
    struct event *event;
    ev_fn fn;
    void *arg;
};

struct ev_calm { /* ev_coalesce.c */
    int64_t gap_us;    /* 0: off */
    int64_t window_us; /* begin of the window in which `turns` are counted */
    uint32_t turns;
    bool fast;
    uint64_t waits;
};

struct ev {
    struct ev_clock clock; /* first: ev.h reads it */
    struct event_base *base;
    bool stop;
    bool in_hooks;
    struct ev_call *posts, *running; /* owned */
    size_t n_posts, cap_posts, cap_running;
    struct ev_call *hooks; /* owned, by rank */
    size_t n_hooks;
    struct ev_sig *signals; /* owned */
    struct ev_calm calm;
};

_Static_assert(offsetof(struct ev, clock) == 0, "a loop begins with its clock");

#endif
