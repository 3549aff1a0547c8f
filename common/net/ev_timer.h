/* ev_timer.h: timers of a loop (ev.h). Shell. */
#ifndef SEGQ_EV_TIMER_H
#define SEGQ_EV_TIMER_H

#include "common/base/base.h"

struct ev;
struct ev_timer;

/* Makes a one-shot timer; armed by ev_timer_at. NULL: no memory. Never early, late by some microseconds (by up to
 * 1 ms where the kernel has no epoll_pwait2()). Arming and putting off ask nothing of the kernel,
 * and look at each timer that is due later. */
struct ev_timer *ev_timer_new(struct ev *ev, void (*fn)(void *arg), void *arg);
void ev_timer_at(struct ev_timer *t, msec_t when); /* MSEC_NEVER disarms */
void ev_timer_in_us(struct ev_timer *t, int64_t us);
void ev_timer_free(struct ev_timer *t);

/* For ev.c: when the first one is due, by the monotonic clock; INT64_MAX: none is armed. */
int64_t ev_timers_due(const struct ev *ev);
void ev_timers_run(struct ev *ev);

#endif
