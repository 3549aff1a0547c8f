/* ev_clock.h: the time of a loop's turn (ev.h). Shell. */
#ifndef SEGQ_EV_CLOCK_H
#define SEGQ_EV_CLOCK_H

#include "common/base/base.h"

struct ev;

struct ev_clock { /* first member of a loop */
    int64_t mono_us, wall_ms; /* times of this turn, if not stale */
    msec_t mono_ms;
    bool stale;
};
void ev_read_clock(const struct ev *ev);

static inline const struct ev_clock *ev_clock(const struct ev *ev)
{
    const struct ev_clock *c = (const struct ev_clock *)(const void *)ev;

    if (SQ_UNLIKELY(c->stale))
        ev_read_clock(ev);
    return c;
}

static inline msec_t ev_now(const struct ev *ev) /* monotonic, of this turn */
{
    return ev_clock(ev)->mono_ms;
}

static inline int64_t ev_now_us(const struct ev *ev) /* monotonic, of this turn */
{
    return ev_clock(ev)->mono_us;
}

static inline int64_t ev_wall_ms(const struct ev *ev) /* Unix time, of this turn */
{
    return ev_clock(ev)->wall_ms;
}

/* Reads the clocks at this very moment. */
int64_t ev_read_mono_us(void);
int64_t ev_read_wall_ms(void); /* Unix time */

#endif
