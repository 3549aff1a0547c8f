/* ev_int.h: what ev.c and ev_timer.c share. Nobody else includes it. */
#ifndef SEGQ_EV_INT_H
#define SEGQ_EV_INT_H

#include <assert.h>
#include <event2/event.h>

#include "common/ev.h"

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

struct ev {
    struct event_base *base;
    int64_t mono_us, wall_us; /* of this turn, if not stale */
    bool stale;
    bool stop;
    bool in_hooks;
    struct ev_call *posts, *running; /* owned */
    size_t n_posts, cap_posts, cap_running;
    struct ev_call *hooks; /* owned, by rank */
    size_t n_hooks;
    struct ev_sig *signals; /* owned */
};

#endif
