/* budget_def.c: the tables of limits and of budgets, and what a table cannot say. */
#include "queuemng/policy/budget_def.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/recur/recur.h"
#include "common/task/rules.h"

#define TIER(f) offsetof(struct def_tier, f)

/* The table. */
static const char *const spans[] = { "second", "minute", "hour", "day", NULL };
static const char *const windows[] = { "sliding", "calendar", NULL };

#define UNIT(f) offsetof(struct unit_rate_def, f)
const struct cfg_key unit_rate_keys[] = {
    { "units", CFG_INT, UNIT(units), NULL, 1, RATE_UNITS_MAX, true, "units that may start in each `per`",
      0, 0, 0 },
    { "per", CFG_ENUM, UNIT(per), "minute", 0, 0, true, "second, minute, hour, day", spans, 0, 0 },
    { "burst", CFG_INT, UNIT(burst), "0", 0, RATE_UNITS_MAX, true,
      "units at once after a pause; a task of more waits until so many are there; 0 = as many as units",
      0, 0, 0 },
    { "window", CFG_ENUM, UNIT(window), "sliding", 0, 0, true,
      "sliding: units come in evenly; calendar: all of them anew with each minute, hour, day of the zone's clocks",
      windows, 0, 0 },
    { "zone", CFG_STR, UNIT(zone), "", 0, ZONE_NAME_MAX, true, "time zone of a calendar window; empty: UTC", 0, 0, 0 },
    { 0 },
};

const char *unit_rate_per(const struct unit_rate_def *r)
{
    return spans[r->per];
}

int64_t unit_rate_seconds(const struct unit_rate_def *r)
{
    return rate_per_seconds((uint64_t)r->per);
}

void unit_rates_put(const struct cfg_list *rates, uint64_t *numbers)
{
    const struct unit_rate_def *r = rates->v;

    assert(rates->n <= UNIT_RATES_MAX);
    for (size_t i = 0; i < rates->n; i++) {
        numbers[3 * i] = (uint64_t)r[i].units;
        numbers[3 * i + 1] = (uint64_t)r[i].per;
        numbers[3 * i + 2] = (uint64_t)r[i].burst;
    }
}

const char *unit_rate_window(const struct unit_rate_def *r)
{
    return windows[r->window];
}

int unit_rates_check(const struct cfg_list *rates, struct err *e)
{
    const struct unit_rate_def *r = rates->v;

    for (size_t i = 0; i < rates->n; i++) {
        if (r[i].window == WINDOW_SLIDING && r[i].zone[0] != 0)
            return err_set(e, SQ_EINVAL, "rates: zone is of window: calendar");
        if (r[i].window == WINDOW_SLIDING)
            continue;
        if (r[i].per == PER_SECOND)
            return err_set(e, SQ_EINVAL, "rates: a calendar window is a minute, an hour or a day");
        if (r[i].burst != 0)
            return err_set(e, SQ_EINVAL, "rates: a calendar window has no burst: all its units may begin at once");
        if (r[i].zone[0] != 0 && !zone_name_ok(r[i].zone))
            return err_set(e, SQ_EINVAL, "rates: zone: a name such as Europe/Berlin");
    }
    return 0;
}

bool unit_rate_same_window(const struct unit_rate_def *a, const struct unit_rate_def *b)
{
    return a->window == b->window && a->per == b->per && strcmp(a->zone, b->zone) == 0;
}

static uint64_t zone_number(struct rate_zones *z, const char *name)
{
    uint32_t i = 0;

    name = strcmp(name, "UTC") == 0 ? "" : name;
    while (i < z->n && strcmp(z->v[i], name) != 0)
        i++;
    if (i == RATE_ZONES_MAX) {
        z->full = true;
        return 0;
    }
    if (i == z->n)
        z->v[z->n++] = name;
    return i + 1;
}

uint64_t unit_rates_windows(const struct cfg_list *rates, struct rate_zones *z)
{
    const struct unit_rate_def *r = rates->v;
    uint64_t packed = 0;

    for (size_t i = 0; i < rates->n; i++)
        if (r[i].window == WINDOW_CALENDAR)
            packed |= zone_number(z, r[i].zone) << (ZONE_BITS * i);
    return packed;
}

static const struct cfg_key tier_keys[] = {
    { "below", CFG_NUM, TIER(below), NULL, 0, 1e12, true,
      "the tier applies while the metric is below this value",
      0, 0, 0 },
    { "rate_per_s", CFG_NUM, TIER(rate_per_s), NULL, 0, 1e6, true,
      "highest rate of this tier, in releases per second", 0, 0, 0 },
    { 0 },
};

#define LIMIT(f) offsetof(struct def_limit, f)
const struct cfg_key metric_limit_keys[] = {
    { "metric", CFG_NAME, LIMIT(metric), NULL, 0, 0, true, "a name from `metrics`", 0, 0, 0 },
    { "tiers", CFG_OBJS, LIMIT(tiers), NULL, 1, 32, true,
      "in ascending order of `below`; above the last tier nobody is let in", 0, tier_keys,
      sizeof(struct def_tier) },
    { 0 },
};

static int tiers_check(const struct def_limit *l, struct err *e)
{
    const struct def_tier *t = l->tiers.v;

    for (size_t i = 1; i < l->tiers.n; i++) {
        if (!(t[i].below > t[i - 1].below))
            return err_set(e, SQ_EINVAL, "limits: tiers of \"%s\" must ascend (below %g "
                           "comes after %g)", l->metric, t[i].below, t[i - 1].below);
        if (!(t[i].rate_per_s <= t[i - 1].rate_per_s))
            return err_set(e, SQ_EINVAL, "limits: rates of \"%s\" must not rise from "
                           "tier to tier (below %g: %g/s)",
                           l->metric, t[i].below, t[i].rate_per_s);
    }
    return 0;
}

int metric_limits_check(const struct cfg_list *limits, struct err *e)
{
    const struct def_limit *l = limits->v;

    for (size_t i = 0; i < limits->n; i++) {
        int rc = tiers_check(&l[i], e);

        if (rc < 0)
            return rc;
        for (size_t k = 0; k < i; k++)
            if (strcmp(l[i].metric, l[k].metric) == 0)
                return err_set(e, SQ_EINVAL, "limits: \"%s\" is listed twice", l[i].metric);
    }
    return 0;
}

bool metric_limits_name(const struct cfg_list *limits, const char *metric)
{
    const struct def_limit *l = limits->v;

    for (size_t i = 0; i < limits->n; i++)
        if (strcmp(l[i].metric, metric) == 0)
            return true;
    return false;
}

/* FNV-1a over words in place of bytes, with a shift behind each: numbers differ in their high bits. */
static uint64_t mix(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * 0x100000001b3;
    return digest ^ (digest >> 32);
}

static uint64_t mix_number(uint64_t digest, double v)
{
    uint64_t word;

    memcpy(&word, &v, sizeof(word));
    return mix(digest, word);
}

uint64_t metric_limits_digest(const struct cfg_list *limits)
{
    const struct def_limit *l = limits->v;
    uint64_t digest = limits->n == 0 ? 0 : 0xcbf29ce484222325;

    for (size_t i = 0; i < limits->n; i++) {
        const struct def_tier *t = l[i].tiers.v;

        for (const char *c = l[i].metric; *c != 0; c++)
            digest = mix(digest, (uint8_t)*c);
        digest = mix(digest, 256 + l[i].tiers.n);
        for (size_t k = 0; k < l[i].tiers.n; k++)
            digest = mix_number(mix_number(digest, t[k].below), t[k].rate_per_s);
    }
    return digest;
}

static bool is_among(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* "cpu, memory", as many as there is room for. */
static void list_names(const char *const *names, size_t n, char *out, size_t cap)
{
    size_t len = 0;

    snprintf(out, cap, "none");
    for (size_t i = 0; i < n && len + NAME_MAX_LEN + 3 < cap; i++)
        len += (size_t)snprintf(out + len, cap - len, "%s%s", i > 0 ? ", " : "", names[i]);
}

int metric_limits_measured(const struct cfg_list *limits, const struct cfg_list *old,
                           const char *const *names, size_t n, struct err *e)
{
    const struct def_limit *l = limits->v;
    char there[200];

    for (size_t i = 0; i < limits->n; i++) {
        const char *metric = l[i].metric;

        if (is_among(names, n, metric) || (old != NULL && metric_limits_name(old, metric)))
            continue;
        list_names(names, n, there, sizeof(there));
        return err_set(e, SQ_EINVAL, "limits.%zu: no metric %s in metrics of queuemng's "
                       "configuration; there are: %s", i, metric, there);
    }
    return 0;
}

/* ---- budgets ---------------------------------------------------------------------- */

#define AT(f) offsetof(struct budget_def, f)
const struct cfg_key budget_def_keys[] = {
    { "name", CFG_NAME, AT(name), NULL, 0, 0, true,
      "name by which queues and endpoints refer to it", 0, 0, 0 },
    { "rate_per_s", CFG_NUM, AT(rate_per_s), "0", 0, 1e6, true,
      "people let in and calls begun per second, in place of limits; 0 = by limits, or any", 0, 0, 0 },
    METRIC_LIMITS_KEYS(AT, "metrics with tiers; the lowest resulting rate applies",
                       "the rate while a limit's metric is missing, stale or absurd"),
    { "max_active", CFG_INT, AT(max_active), "0", 0, TASKS_MAX, true,
      "people inside and calls under way, together; 0 = any", 0, 0, 0 },
    UNIT_RATES_KEY(AT(rates), "units of calls that begin, of all its endpoints together"),
    { 0 },
};

int budget_def_check(const struct budget_def *d, struct err *e)
{
    int rc = metric_limits_check(&d->limits, e);

    if (rc == 0 && strlen(d->name) > NAME_MAX_LEN - strlen("budget:"))
        rc = err_set(e, SQ_EINVAL, "its name is longer than %zu characters",
                     NAME_MAX_LEN - strlen("budget:"));
    if (rc == 0 && !budget_has_rate(d) && d->max_active == 0 && d->rates.n == 0)
        rc = err_set(e, SQ_EINVAL, "it needs rate_per_s, limits, max_active or rates");
    if (rc == 0)
        rc = unit_rates_check(&d->rates, e);
    return rc < 0 ? err_wrap(e, "budget %s", d->name) : 0;
}
