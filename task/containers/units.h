/* units.h: rates in units: how many units of work may start in any stretch of time. Pure, no memory.
 *
 * A bucket as in rate.h, in which a start takes as many units as its task costs. Its state, `tat`, is
 * the moment at which it would be full again, in nanoseconds on the caller's axis.
 *
 * A start needs its units in the bucket; one of more units than go into the bucket needs a full one,
 * and what it takes beyond is owed: nothing starts until that is paid back. So in any window of w at
 * most max(room, cost of the largest) + units * w / per start. */
#ifndef SEGQ_TASK_UNITS_H
#define SEGQ_TASK_UNITS_H

#include "task/containers/rate.h"

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
