/* ev_timer.c: timers of a loop, a list in the order of their moments. There are some dozens in a
 * process, and most are armed behind all others. */
#include "common/net/ev_timer.h"

#include <stdlib.h>

#include "common/net/ev_int.h"

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

int64_t ev_timers_due(const struct ev *ev)
{
    const struct ev_timer *t = first(ev);

    return t != NULL ? t->due_us : INT64_MAX;
}

/* Timers armed meanwhile wait for the next turn. */
void ev_timers_run(struct ev *ev)
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
