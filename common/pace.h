/* pace.h: how long a waiter is told to wait before its next poll. Pure.
 *
 * interval(position) = clamp(position * us_per_place, min_ms, max_ms), jittered by +-10 %.
 * The first in line poll often, the last rarely. pace_plan() chooses us_per_place, and if
 * need be raises max_ms, so that all waiters together poll at most `budget_per_s` times a
 * second: the operator's number, not the crowd's. */
#ifndef SEGQ_PACE_H
#define SEGQ_PACE_H

#include "common/base.h"

struct pace {
    uint32_t min_ms, max_ms;
    uint32_t us_per_place;
};

/* min_ms, max_ms: the queue's configured bounds; max_ms is stretched when even max_ms for
 * everybody is above the budget. */
struct pace pace_plan(uint64_t waiting, uint32_t budget_per_s, uint32_t min_ms,
                      uint32_t max_ms);
/* Polls per second that `waiting` people make under p (expected value). */
double pace_load(const struct pace *p, uint64_t waiting);
/* Without jitter. */
uint32_t pace_interval_ms(const struct pace *p, uint64_t position);
/* The same +-10 %, by `salt` (anything that differs from poll to poll). */
uint32_t pace_jittered_ms(const struct pace *p, uint64_t position, uint32_t salt);

#endif
