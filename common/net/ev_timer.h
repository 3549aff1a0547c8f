/* ev_timer.h: timers of a loop (ev.h). Shell. */
#ifndef SEGQ_EV_TIMER_H
#define SEGQ_EV_TIMER_H

#include "common/base/base.h"

struct ev;
struct ev_timer;

/* One-shot; armed by ev_timer_at. NULL: no memory. Never early; putting it off is nearly
 * free (the kernel is asked again only when the old moment comes). Exact to about 5 ms; a
 * wait below 2 ms asked for by ev_timer_in_us to some microseconds (a timerfd). */
struct ev_timer *ev_timer_new(struct ev *ev, void (*fn)(void *arg), void *arg);
void ev_timer_at(struct ev_timer *t, msec_t when); /* MSEC_NEVER disarms */
void ev_timer_in_us(struct ev_timer *t, int64_t us);
void ev_timer_free(struct ev_timer *t);

#endif
