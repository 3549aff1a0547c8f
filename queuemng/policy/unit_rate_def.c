/* unit_rate_def.c: the table. */
#include "queuemng/policy/unit_rate_def.h"

#include <assert.h>
#include <string.h>

#include "common/recur/cron.h"

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
