/* pace.h: how long a waiter is told to wait before its next poll. Pure.
 *
 * interval(position) = clamp(position * us_per_place, min_ms, max_ms), jittered.
 * The first in line poll often, the last rarely. pace_plan() chooses us_per_place, and if
 * need be raises max_ms, so that all waiters together poll at most `budget_per_s` times a
 * second: the operator's number, not the crowd's.
 *
 * Jitter is +-10 % up to 2 s and grows to +-50 % at 10 s. Waves are the reason: who joined
 * together is told the same long interval, and with +-10 % comes back together for many
 * rounds (of an echo 94 % are left after each: measured, 59 to 125 % of the budget in ten
 * seconds for minutes on end). Intervals between one and three halves of what is meant
 * leave nothing of it after one round.
 *
 * While people are released at some rate, whoever is told more than its time to the front
 * learns too late that it is there. So us_per_place is kept so low that also the longest
 * jittered interval ends before its turn comes, if the budget allows that. */
#ifndef SEGQ_PACE_H
#define SEGQ_PACE_H

#include "common/base/base.h"

struct pace {
    uint32_t min_ms, max_ms;
    uint32_t us_per_place;
};

/* min_ms, max_ms: the queue's configured bounds; max_ms is stretched when even max_ms for
 * everybody is above the budget, or when the front must poll more often because people
 * are released. release_per_s: how fast the line moves; 0 = not. */
struct pace pace_plan(uint64_t waiting, double release_per_s, uint32_t budget_per_s,
                      uint32_t min_ms, uint32_t max_ms);
/* Polls per second that `waiting` people make under p (expected value). */
double pace_load(const struct pace *p, uint64_t waiting, double release_per_s);
/* Without jitter. */
uint32_t pace_interval_ms(const struct pace *p, uint64_t position);
/* With, by `salt` (anything that differs from poll to poll). */
uint32_t pace_jittered_ms(const struct pace *p, uint64_t position, uint32_t salt);
/* The longest that anybody is told. */
uint32_t pace_longest_ms(const struct pace *p);

/* An interval in one byte: a class is eight to the power of two, so it says at most 9.1 % more,
 * and never less. From 2^31.875 ms on: UINT32_MAX. */
extern const uint32_t pace_class_top[8]; /* 2^(k/8) * 2^31 */

static inline uint8_t pace_class(uint32_t ms)
{
    unsigned e = 31 - (unsigned)__builtin_clz(ms | 1), k = 0;
    uint32_t top = ms << (31 - e);

    for (unsigned i = 0; i < 8; i++)
        k += top > pace_class_top[i];
    return (uint8_t)(8 * e + k < UINT8_MAX ? 8 * e + k : UINT8_MAX);
}

static inline uint32_t pace_class_ms(uint8_t class)
{
    return class < UINT8_MAX ? pace_class_top[class & 7] >> (31 - (class >> 3)) : UINT32_MAX;
}

/* ---- refusals: for how long who cannot be answered now is sent away ----
 *
 * A node that restarts is back within a second, so a few are told one second. When a router refuses
 * more than PUT_OFF_PER_S a second, it spreads them over as many seconds as bring them back at that
 * rate, but PUT_OFF_MOST_S at most: a lost segment is rebuilt by its people's polls. */

enum { PUT_OFF_PER_S = 1000, PUT_OFF_MOST_S = 15 };

struct put_off {
    msec_t begin_ms; /* since then `n` were refused */
    uint32_t n;
    uint32_t over_s; /* 0: as 1 */
};

/* Seconds, from 1 on, for one more refusal. salt: anything that differs from one to the next. */
uint32_t put_off_s(struct put_off *p, msec_t now_ms, uint32_t salt);

/* ---- how long it still takes: from a place in line to seconds ----
 *
 * People are let in at a rate, and each of those before one gives up with a probability per
 * second: p(t) falls by per_s + leave * p(t), so it is 0 after ln(1 + leave p / per_s) / leave.
 * A place further back never has the shorter time. */

#define ETA_PPM 1000000.0

/* leave: share of the waiting that gives up, per second. -1: it does not end (per_s 0). */
double eta_seconds(double per_s, double leave, uint64_t position);
/* The furthest place from which it takes at most so long; 0: none, or it does not end. */
uint64_t eta_within(double per_s, double leave, double seconds);
/* The same as it is told: rounded up; -1 also where it is more than 68 years. */
int64_t eta_whole_s(double per_s, double leave, uint64_t position);
/* Arguments of the above, from the figures of STATS. */
static inline double eta_per_s(uint64_t milli_per_s)
{
    return (double)milli_per_s / 1000;
}
static inline double eta_leave(uint64_t ppm)
{
    return (double)ppm / ETA_PPM;
}

/* Why the time is another one than was told before, or is not known. */
enum eta_reason {
    ETA_AS_TOLD = 0,
    ETA_SLOWER,  /* fewer are let in than when it was told */
    ETA_FASTER,
    ETA_PAUSED,  /* by the operator */
    ETA_STOPPED, /* no entry now: see limited_by */
    ETA_STAY,    /* slots are full, and nobody leaves: as if each stays as long as a session may last */
    ETA_NREASONS
};
const char *eta_reason_name(unsigned reason); /* NULL: as told, or of a later version */

#endif
