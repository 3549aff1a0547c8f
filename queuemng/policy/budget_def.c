/* budget_def.c: the table of a budget's definition, and what a table cannot say. */
#include "queuemng/policy/budget_def.h"

#include <string.h>

#include "common/task/bounds.h"

#define AT(f) offsetof(struct budget_def, f)
const struct cfg_key budget_def_keys[] = {
    { "name", CFG_NAME, AT(name), NULL, 0, 0, true,
      "name by which queues and endpoints refer to it", 0, 0, 0 },
    { "rate_per_s", CFG_NUM, AT(rate_per_s), "0", 0, 1e6, true,
      "people let in and calls begun per second, in place of limits; 0 = by limits, or any", 0, 0, 0 },
    { "limits", CFG_OBJS, AT(limits), "", 0, METRIC_LIMITS_MAX, true,
      "metrics with tiers; the lowest resulting rate applies", 0, metric_limit_keys,
      sizeof(struct def_limit) },
    { "fallback_per_s", CFG_NUM, AT(fallback_per_s), "10", 0, 1e6, true,
      "the rate while a limit's metric is missing, stale or absurd", 0, 0, 0 },
    { "hysteresis", CFG_NUM, AT(hysteresis), "5", 0, 1e9, true,
      "distance below a tier's border to which the metric must fall before the rate rises", 0, 0, 0 },
    { "max_active", CFG_INT, AT(max_active), "0", 0, TASKS_MAX, true,
      "people inside and calls under way, together; 0 = any", 0, 0, 0 },
    { 0 },
};

int budget_def_check(const struct budget_def *d, struct err *e)
{
    int rc = metric_limits_check(&d->limits, e);

    if (rc == 0 && strlen(d->name) > NAME_MAX_LEN - strlen("budget:"))
        rc = err_set(e, SQ_EINVAL, "its name is longer than %zu characters",
                     NAME_MAX_LEN - strlen("budget:"));
    if (rc == 0 && !budget_has_rate(d) && d->max_active == 0)
        rc = err_set(e, SQ_EINVAL, "it needs rate_per_s, limits or max_active");
    return rc < 0 ? err_wrap(e, "budget %s", d->name) : 0;
}
