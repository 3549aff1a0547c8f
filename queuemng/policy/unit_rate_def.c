/* unit_rate_def.c: the table. */
#include "queuemng/policy/unit_rate_def.h"

#include <assert.h>

static const char *const spans[] = { "second", "minute", "hour", "day", NULL };

#define UNIT(f) offsetof(struct unit_rate_def, f)
const struct cfg_key unit_rate_keys[] = {
    { "units", CFG_INT, UNIT(units), NULL, 1, RATE_UNITS_MAX, true, "units that may start in each `per`",
      0, 0, 0 },
    { "per", CFG_ENUM, UNIT(per), "minute", 0, 0, true, "second, minute, hour, day", spans, 0, 0 },
    { "burst", CFG_INT, UNIT(burst), "0", 0, RATE_UNITS_MAX, true,
      "units at once after a pause; a task of more waits until so many are there; 0 = as many as units",
      0, 0, 0 },
    { 0 },
};

const char *unit_rate_per(const struct unit_rate_def *r)
{
    return spans[r->per];
}

int64_t unit_rate_seconds(const struct unit_rate_def *r)
{
    static const int64_t seconds[RATE_NPERS] = { 1, 60, 3600, 86400 };

    return seconds[r->per];
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
