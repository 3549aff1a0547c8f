/* starts.h: how fast a line has moved of late: starts in the last 30 to 60 seconds, as long as there
 * was a line: while nobody waits nothing can start, and that is no pace. Pure.
 * Whoever asks learns how long so many more take at that pace. */
#ifndef SEGQ_TASK_STARTS_H
#define SEGQ_TASK_STARTS_H

#include "common/base/base.h"

#define STARTS_WINDOW_MS 30000
#define STARTS_LEAST_MS  1000 /* least time over which starts are counted */

struct starts { /* zero: none so far */
    msec_t began;              /* this window */
    uint32_t n, before;        /* starts in it; in the one before it */
    uint32_t before_ms;        /* how long that one was, without its idle time */
    uint32_t idle_ms;          /* part of this window in which nobody waited */
    msec_t empty;              /* since when nobody waits; 0: somebody does */
};

/* Somebody begins to wait. */
static inline void starts_wait(struct starts *s, msec_t now)
{
    if (s->empty != 0 && s->n > 0 && now > s->empty)
        s->idle_ms += (uint32_t)(now - s->empty > 4 * STARTS_WINDOW_MS ? 4 * STARTS_WINDOW_MS : now - s->empty);
    s->empty = 0;
}

static inline uint32_t starts_busy_ms(const struct starts *s, msec_t now)
{
    msec_t age = now - s->began;

    return age > s->idle_ms ? (uint32_t)(age - s->idle_ms) : 0;
}

/* more: somebody waits still. */
static inline void starts_note(struct starts *s, msec_t now, bool more)
{
    msec_t age = now - s->began;

    if (s->n == 0 || age >= 2 * STARTS_WINDOW_MS)
        *s = (struct starts){ .began = now };
    else if (age >= STARTS_WINDOW_MS)
        *s = (struct starts){ .began = now, .before = s->n, .before_ms = starts_busy_ms(s, now) };
    s->n++;
    if (!more)
        s->empty = now;
}

/* A line has been looked at for too short a time to tell its pace from a burst. */
static inline bool starts_are_young(const struct starts *s, msec_t now)
{
    return starts_busy_ms(s, now) + s->before_ms < STARTS_LEAST_MS;
}

/* ms that n more take; -1: none has started of late. */
static inline int64_t starts_ms(const struct starts *s, uint64_t n, msec_t now)
{
    msec_t span = (msec_t)starts_busy_ms(s, now) + s->before_ms;

    if (s->n == 0 || now - s->began >= 2 * STARTS_WINDOW_MS)
        return -1;
    span = span < STARTS_LEAST_MS ? STARTS_LEAST_MS : span;
    return (int64_t)((double)n * (double)span / ((double)s->n + s->before));
}

#endif
