/* budget.h: what a partition as a whole may start: its share of a rate that the manager makes of
 * metrics. Pure.
 *
 * A rate that was said holds for BUDGET_TOLD_MS; without another one the partition has what its
 * pool's rules say for that case (`until_told`). A pool without limits by metrics has no budget. It
 * is in no record: after a replay the bucket is empty, and nothing has been said. */
#ifndef SEGQ_TASK_BUDGET_H
#define SEGQ_TASK_BUDGET_H

#include "common/task/rules.h"
#include "task/parts/rate.h"

#define BUDGET_TOLD_MS 15000

struct budget {
    bool is_on;
    bool none;         /* nothing starts */
    uint64_t fallback; /* per 1000 s */
    struct rate rate;
    int64_t tat;       /* rate.h */
    msec_t told_until; /* 0: nothing holds that was said */
};

/* Rules are new, or have changed. */
void budget_rules(struct budget *b, const struct task_rules *r);
/* per_1000_s 0: nothing starts. */
void budget_tell(struct budget *b, uint64_t per_1000_s, msec_t now);
void budget_advance(struct budget *b, msec_t now);
/* When something happens by itself; MSEC_NEVER. */
msec_t budget_next(const struct budget *b, msec_t now);
void budget_empty(struct budget *b, msec_t now);

static inline bool budget_lets(const struct budget *b, msec_t now)
{
    return !b->is_on || (!b->none && rate_lets(&b->rate, b->tat, now));
}

static inline void budget_pay(struct budget *b, msec_t now)
{
    if (b->is_on)
        b->tat = rate_pass(&b->rate, b->tat, now);
}

#endif
