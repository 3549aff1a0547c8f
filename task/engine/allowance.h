/* allowance.h: what a partition as a whole may start: its share of a rate that the manager makes of
 * metrics. Pure.
 *
 * A rate that was said holds for ALLOWANCE_TOLD_MS; without another one the partition has what its
 * pool's rules say for that case (`until_told`). A pool without limits by metrics has no allowance. It
 * is in no record: after a replay the bucket is empty, and nothing has been said. */
#ifndef SEGQ_TASK_ALLOWANCE_H
#define SEGQ_TASK_ALLOWANCE_H

#include "common/task/rules.h"
#include "task/containers/rate.h"

#define ALLOWANCE_TOLD_MS 15000

struct allowance {
    bool is_on;
    bool none;         /* nothing starts */
    uint64_t fallback; /* per 1000 s */
    struct rate rate;
    int64_t tat;       /* rate.h */
    msec_t told_until; /* 0: nothing holds that was said */
};

/* Rules are new, or have changed. */
void allowance_rules(struct allowance *b, const struct task_rules *r, msec_t now);
/* per_1000_s 0: nothing starts. */
void allowance_tell(struct allowance *b, uint64_t per_1000_s, msec_t now);
void allowance_advance(struct allowance *b, msec_t now);
/* When something happens by itself; MSEC_NEVER. */
msec_t allowance_next(const struct allowance *b, msec_t now);
void allowance_empty(struct allowance *b, msec_t now);

static inline bool allowance_lets(const struct allowance *b, msec_t now)
{
    return !b->is_on || (!b->none && rate_lets(&b->rate, b->tat, now));
}

static inline void allowance_pay(struct allowance *b, msec_t now)
{
    if (b->is_on)
        b->tat = rate_pass(&b->rate, b->tat, now);
}

#endif
