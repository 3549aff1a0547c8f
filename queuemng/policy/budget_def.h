/* budget_def.h: what an operator says about what a backend bears: limits by metrics, and budgets that
 * queues of people and endpoints share; from queuemng.yaml (`limits:`, `budgets:`) and from the admin
 * API, through the same tables. Pure. */
#ifndef SEGQ_BUDGET_DEF_H
#define SEGQ_BUDGET_DEF_H

#include "common/config/cfg.h"
#include "common/task/rules.h"

/* Rates in units, as operators write them for queues, keys, endpoints and targets. Pure. */
enum unit_window { WINDOW_SLIDING, WINDOW_CALENDAR };

struct unit_rate_def { /* units of what starts (`cost` of a task) in a span of time */
    int64_t units, burst; /* burst 0: as many as units */
    int per;              /* enum rate_per */
    int window;           /* enum unit_window */
    char *zone;           /* time zone of a calendar window; "": UTC */
};

extern const struct cfg_key unit_rate_keys[];

/* A key `rates`; at: offset of a struct cfg_list of struct unit_rate_def. */
#define UNIT_RATES_KEY(at, help)                                                         \
    { "rates", CFG_OBJS, at, "", 0, UNIT_RATES_MAX, true, help, 0, unit_rate_keys,       \
      sizeof(struct unit_rate_def) }

/* After cfg_bind: what the table cannot say. 0 or SQ_EINVAL with a sentence. */
SQ_CHECK int unit_rates_check(const struct cfg_list *rates, struct err *e);
/* Both have the same window: what is counted in one goes on in the other. */
bool unit_rate_same_window(const struct unit_rate_def *a, const struct unit_rate_def *b);
const char *unit_rate_per(const struct unit_rate_def *r); /* "minute" */
const char *unit_rate_window(const struct unit_rate_def *r); /* "calendar" */
int64_t unit_rate_seconds(const struct unit_rate_def *r); /* length of its span */
/* numbers: units, per, units at once of each, for UNIT_RATES_MAX of them. */
void unit_rates_put(const struct cfg_list *rates, uint64_t *numbers);

struct rate_zones { /* zones of calendar windows of queues and keys, as task nodes are told them */
    const char *v[RATE_ZONES_MAX]; /* borrowed; zone 1 and up; "": UTC */
    uint32_t n;
    bool full; /* another one had no room */
};
/* Packed, LIMIT_WINDOWS bits (common/task/rules.h); a zone that is new goes to the end of the list. */
uint64_t unit_rates_windows(const struct cfg_list *rates, struct rate_zones *z);

/* Limits by metrics, of a queue of people, a pool of task queues, or a budget: metrics with tiers, each
 * with a rate. */

#define METRIC_LIMITS_MAX 16

struct def_tier { /* while the metric is below `below`, at most rate_per_s */
    double below;
    double rate_per_s;
};

struct def_limit { /* a metric and its tiers, ascending `below`; above the last: 0 */
    char *metric;           /* name of a monitor in queuemng.yaml: "cpu" ... */
    struct cfg_list tiers;  /* struct def_tier */
};

extern const struct cfg_key metric_limit_keys[]; /* keys of a struct def_limit */

/* Lists of struct def_limit. Tiers ascend, their rates do not rise, no metric is there twice: 0, or
 * SQ_EINVAL. */
SQ_CHECK int metric_limits_check(const struct cfg_list *limits, struct err *e);
/* A limit whose metric nobody measures would sit on its fallback for ever: SQ_EINVAL, with the names
 * that there are, unless `old` (NULL ok) names it already: its monitor was taken out since. */
SQ_CHECK int metric_limits_measured(const struct cfg_list *limits, const struct cfg_list *old,
                                    const char *const *names, size_t n, struct err *e);
bool metric_limits_name(const struct cfg_list *limits, const char *metric); /* some limit does */
/* Differs (but for one in 2^64) if the metrics, their order, or their tiers differ; of an empty list: 0. */
uint64_t metric_limits_digest(const struct cfg_list *limits);

#define BUDGETS_MAX 100 /* budgets of a cluster */

struct budget_def {
    char *name;
    double rate_per_s;      /* > 0: fixed, limits are not looked at; 0: by limits, or any */
    struct cfg_list limits; /* struct def_limit */
    double fallback_per_s, hysteresis;
    int64_t max_active;     /* people inside and calls under way together; 0: any */
    struct cfg_list rates;  /* struct unit_rate_def: units of calls that begin; people cost none */
};

struct budget_member { /* part of a queue's or an endpoint's definition */
    char *name;            /* "": none */
    int64_t weight;
};

extern const struct cfg_key budget_def_keys[];

/* The keys `limits`, `fallback_per_s` and `hysteresis`; at: offset of a member. */
#define METRIC_LIMITS_KEYS(at, limits_help, fallback_help)                               \
    { "limits", CFG_OBJS, at(limits), "", 0, METRIC_LIMITS_MAX, true, limits_help, 0, metric_limit_keys, \
      sizeof(struct def_limit) },                                                        \
    { "fallback_per_s", CFG_NUM, at(fallback_per_s), "10", 0, 1e6, true, fallback_help, 0, 0, 0 }, \
    { "hysteresis", CFG_NUM, at(hysteresis), "5", 0, 1e9, true,                          \
      "distance below a tier's border to which the metric must fall before the rate rises", 0, 0, 0 }

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
