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

#endif
