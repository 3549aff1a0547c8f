/* budget_def.h: what an operator says about one budget: what a backend bears that queues of people and
 * endpoints share; from queuemng.yaml (`budgets:`) and from the admin API, through the same table.
 * Pure. */
#ifndef SEGQ_BUDGET_DEF_H
#define SEGQ_BUDGET_DEF_H

#include "queuemng/policy/metric_limits.h"

#define BUDGETS_MAX 100 /* budgets of a cluster */

struct budget_def {
    char *name;
    double rate_per_s;      /* > 0: fixed, limits are not looked at; 0: by limits, or any */
    struct cfg_list limits; /* struct def_limit */
    double fallback_per_s, hysteresis;
    int64_t max_active;     /* people inside and calls under way together; 0: any */
};

struct budget_member { /* part of a queue's or an endpoint's definition */
    char *name;            /* "": none */
    int64_t weight;
};

extern const struct cfg_key budget_def_keys[];

/* The keys `budget` and `budget_weight`; at: offset of struct budget_member. */
#define BUDGET_MEMBER_KEYS(at)                                                           \
    { "budget", CFG_STR, (at) + offsetof(struct budget_member, name), "", 0, NAME_MAX_LEN, true, \
      "budget that it shares with others; \"\" = none", 0, 0, 0 },                      \
    { "budget_weight", CFG_INT, (at) + offsetof(struct budget_member, weight), "1", 1, 1000, true, \
      "its share of the budget, beside those of the others that want more", 0, 0, 0 }

/* After cfg_bind: what a table cannot say. 0 or SQ_EINVAL with a sentence. */
SQ_CHECK int budget_def_check(const struct budget_def *d, struct err *e);
static inline bool budget_has_rate(const struct budget_def *d)
{
    return d->rate_per_s > 0 || d->limits.n != 0;
}

#endif
