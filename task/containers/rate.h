/* rate.h: how many may start in any stretch of time, and how many have; and how many units of work. Pure, no memory.
 *
 * A limit is GCRA, the virtual scheduling algorithm of ATM (ITU-T I.371, annex A): its state is one
 * number.
 * In any window of w milliseconds at most burst + rate * w pass. The state, `tat`, is the
 * moment at which the bucket would be full again, in nanoseconds on the caller's axis;
 * whatever is not after now means full. */
#ifndef SEGQ_TASK_RATE_H
#define SEGQ_TASK_RATE_H

#include <assert.h>

#include "common/base/base.h"
#include "common/task/rules.h"

struct rate {
    int64_t interval_ns; /* between two; 0: no limit */
    int64_t burst_ns;    /* burst * interval */
};

#define RATE_NS        1000000 /* parts of a millisecond */

/* per_s: 0: no limit; else at least one in 30 days. Rounded so that it never passes more. */
static inline struct rate rate_make(double per_s, uint32_t burst)
{
    struct rate r = { 0, 0 };
    double ns = per_s > 0 ? 1e9 / per_s : 0;

    assert(per_s >= 0 && burst <= RATE_BURST_MAX && ns < 2.6e15);
    if (per_s <= 0)
        return r;
    r.interval_ns = (int64_t)ns + ((double)(int64_t)ns < ns);
    if (__builtin_mul_overflow(r.interval_ns, (int64_t)(burst > 0 ? burst : 1), &r.burst_ns) ||
        r.burst_ns > INT64_MAX / 8)
        r.burst_ns = INT64_MAX / 8;
    return r;
}

static inline bool rate_lets(const struct rate *r, int64_t tat, msec_t now)
{
    return r->interval_ns == 0 || tat + r->interval_ns - r->burst_ns <= now * RATE_NS;
}

/* The state after one more has passed. (Also beyond the limit: an operator's "now".) */
static inline int64_t rate_pass(const struct rate *r, int64_t tat, msec_t now)
{
    return (tat > now * RATE_NS ? tat : now * RATE_NS) + r->interval_ns;
}

/* The state of an empty bucket: the first one passes after one interval. */
static inline int64_t rate_empty(const struct rate *r, msec_t now)
{
    return now * RATE_NS + r->burst_ns;
}

/* The state as it goes on under this rate, after another one: at worst empty, however long the other
 * would have taken. */
static inline int64_t rate_anew(const struct rate *r, int64_t tat, msec_t now)
{
    int64_t empty = rate_empty(r, now);

    return tat < empty ? tat : empty;
}

/* The state with as much in the bucket, to a part of one, as there was under the rate of before (0:
 * none, or no limit: now it is empty), and no more than goes into it. */
static inline int64_t rate_keeps(const struct rate *r, const struct rate *was, int64_t tat, msec_t now)
{
    double full = (double)(was->burst_ns - (tat > now * RATE_NS ? tat - now * RATE_NS : 0));
    double level = was->interval_ns == 0 || full < 0 ? 0 : full / (double)was->interval_ns;
    double ns = (double)r->burst_ns - level * (double)r->interval_ns;

    return now * RATE_NS + (ns > 0 ? (int64_t)ns : 0);
}

/* The first millisecond at which one passes, rounded up. */
static inline msec_t rate_when(const struct rate *r, int64_t tat)
{
    int64_t ns = tat + r->interval_ns - r->burst_ns;

    return ns <= 0 ? 0 : (ns + RATE_NS - 1) / RATE_NS;
}

/* The first millisecond at which the n-th from now may pass; 0: at once, or nobody lives so long. */
static inline msec_t rate_nth(const struct rate *r, int64_t tat, uint64_t n, msec_t now)
{
    int64_t more, from = tat > now * RATE_NS ? tat : now * RATE_NS;

    if (r->interval_ns == 0 || __builtin_mul_overflow((int64_t)n - 1, r->interval_ns, &more) ||
        __builtin_add_overflow(from, more, &from))
        return 0;
    return rate_when(r, from);
}

/* The first millisecond at which the bucket is full. */
static inline msec_t rate_full_at(int64_t tat)
{
    return tat <= 0 ? 0 : (tat + RATE_NS - 1) / RATE_NS;
}

/* ---- pace -------------------------------------------------------------------------- */

/* How fast a line has moved of late: starts in the last 30 to 60 seconds, as long as there
 * was a line: while nobody waits nothing can start, and that is no pace.
 * Whoever asks learns how long so many more take at that pace. */
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

/* Rates in units: how many units of work may start in any stretch of time. Pure, no memory.
 *
 * A bucket as in rate.h, in which a start takes as many units as its task costs. Its state, `tat`, is
 * the moment at which it would be full again, in nanoseconds on the caller's axis.
 *
 * A start needs its units in the bucket; one of more units than go into the bucket needs a full one,
 * and what it takes beyond is owed: nothing starts until that is paid back. So in any window of w at
 * most max(room, cost of the largest) + units * w / per start. */

struct unit_rate {
    uint64_t units;  /* in each `per`; 0: no limit */
    int64_t per_ns;
    int64_t room_ns; /* time in which an empty bucket is full */
    uint8_t window;  /* number of a calendar window (unit_window()), of whose units it is; 0: none */
};

#define UNITS_NS_MAX (INT64_MAX / 8) /* 36 years: what takes longer counts as this */

/* Time that so many units take at this rate, rounded up: never more pass than may. */
static inline int64_t units_ns(const struct unit_rate *r, uint64_t units)
{
    unsigned __int128 ns = ((unsigned __int128)units * (uint64_t)r->per_ns + r->units - 1) / r->units;

    return ns < (uint64_t)UNITS_NS_MAX ? (int64_t)ns : UNITS_NS_MAX;
}

/* A room of 0 units is as large as what comes in one span. */
static inline struct unit_rate unit_rate_make(const struct unit_rate_numbers *n)
{
    struct unit_rate r = { .units = n->units };

    assert(n->units <= RATE_UNITS_MAX && n->per < RATE_NPERS && n->room <= RATE_UNITS_MAX);
    if (n->units == 0)
        return r;
    r.per_ns = rate_per_seconds(n->per) * 1000 * RATE_NS;
    r.room_ns = units_ns(&r, n->room != 0 ? n->room : n->units);
    return r;
}

/* The first moment in ms at which a start of so many units passes, rounded up; 0: long ago. */
static inline msec_t units_when(const struct unit_rate *r, int64_t tat, uint64_t cost)
{
    int64_t ns = r->units == 0 ? 0 : tat - r->room_ns + (cost > 0 ? units_ns(r, cost) : 0), full = tat;

    ns = ns < full ? ns : full;
    return r->units == 0 || ns <= 0 ? 0 : (ns + RATE_NS - 1) / RATE_NS;
}

static inline bool units_let(const struct unit_rate *r, int64_t tat, uint64_t cost, msec_t now)
{
    return units_when(r, tat, cost) <= now;
}

/* The state after a start. (Also beyond the limit: an operator's "now".) */
static inline int64_t units_pass(const struct unit_rate *r, int64_t tat, uint64_t cost, msec_t now)
{
    int64_t most = now * RATE_NS + 2 * UNITS_NS_MAX;

    if (r->units == 0)
        return tat;
    tat = (tat > now * RATE_NS ? tat : now * RATE_NS) + units_ns(r, cost);
    return tat < most ? tat : most;
}

/* The state once a start of `was` units turns out to have taken `used`. More is taken now; less is given
 * back as it was taken. */
static inline int64_t units_settle(const struct unit_rate *r, int64_t tat, uint64_t was, uint64_t used,
                                   msec_t now)
{
    int64_t most = now * RATE_NS + 2 * UNITS_NS_MAX, more;

    if (r->units == 0)
        return tat;
    more = units_ns(r, used) - units_ns(r, was);
    if (more <= 0)
        return tat + more > 0 ? tat + more : 0;
    tat = (tat > now * RATE_NS ? tat : now * RATE_NS) + more;
    return tat < most ? tat : most;
}

/* The state as it goes on under this rate, after another one, or after none: what was owed is at worst
 * an empty bucket. */
static inline int64_t units_anew(const struct unit_rate *r, int64_t tat, msec_t now)
{
    int64_t empty = r->units == 0 ? 0 : now * RATE_NS + r->room_ns;

    return tat < empty ? tat : empty;
}

/* The state of an empty bucket. */
static inline int64_t units_empty(const struct unit_rate *r, msec_t now)
{
    return r->units == 0 ? 0 : now * RATE_NS + r->room_ns;
}

#endif
