/* tasks.c: calendar windows as they are stored, and as they go on where rates change. */
#include "queuemng/state/tasks.h"

#include <string.h>

#include "queuemng/policy/budget_def.h"
#include "queuemng/state/state.h"

/* The rate among those of before whose window goes on in this one: the same rate, else one of the same window whose own
 * rate is gone. UNIT_RATES_MAX: none. */
static size_t goes_on(const struct meter *meter, const struct cfg_list *was, const struct cfg_list *rates, size_t k,
                      unsigned used)
{
    const struct unit_rate_def *r = rates->v, *b = was->v;
    size_t found = UNIT_RATES_MAX;

    for (size_t i = was->n; i-- > 0;) {
        bool kept = false;

        if ((used >> i & 1) != 0 || !unit_rate_same_window(&b[i], &r[k]))
            continue;
        if (b[i].units == r[k].units)
            return i;
        for (size_t o = 0; o < rates->n; o++)
            kept |= unit_rate_same_window(&b[i], &r[o]) && b[i].units == r[o].units;
        if (!kept && meter[i].window.no != 0)
            found = i;
    }
    return found;
}

void meters_move(struct meter *meter, const struct cfg_list *was, const struct cfg_list *rates, size_t *from)
{
    struct meter had[UNIT_RATES_MAX];
    unsigned used = 0;

    memcpy(had, meter, sizeof(had));
    for (size_t k = 0; k < UNIT_RATES_MAX; k++) {
        from[k] = k < rates->n ? goes_on(had, was, rates, k, used) : UNIT_RATES_MAX;
        used |= from[k] < UNIT_RATES_MAX ? 1u << from[k] : 0;
        meter[k] = from[k] < UNIT_RATES_MAX ? had[from[k]] : (struct meter){ 0 };
    }
}

void meters_move_given(struct mshare *s, const size_t *from, size_t first)
{
    uint64_t given[UNIT_RATES_MAX];

    memcpy(given, s->given, sizeof(given));
    for (size_t k = 0; first + k < UNIT_RATES_MAX; k++)
        s->given[first + k] = from[k] < UNIT_RATES_MAX - first ? given[first + from[k]] : 0;
}

bool meters_any(const struct cfg_list *rates)
{
    const struct unit_rate_def *r = rates->v;

    for (size_t k = 0; k < rates->n; k++)
        if (r[k].window == WINDOW_CALENDAR)
            return true;
    return false;
}

int meters_known(const struct mng *m, const struct cfg_list *rates, struct err *e)
{
    const struct unit_rate_def *r = rates->v;
    int32_t offset;

    for (size_t k = 0; k < rates->n; k++)
        if (!zone_offset(&(struct zone){ m->opts.zones, r[k].zone }, m->sched_ms / 1000, &offset))
            return err_set(e, SQ_EINVAL, "rates: zone: there is no %s here", r[k].zone);
    return 0;
}

json_t *meters_json(const struct meter *meter, const struct cfg_list *rates)
{
    const struct unit_rate_def *r = rates->v;
    json_t *list = NULL;

    for (size_t k = 0; k < rates->n && k < UNIT_RATES_MAX; k++) {
        const struct meter *w = &meter[k];

        if (r[k].window != WINDOW_CALENDAR)
            continue;
        list = list != NULL ? list : json_array();
        (void)json_array_append_new(list, json_pack("[I,I,I,I,I]", (json_int_t)k, (json_int_t)w->window.no,
                                                    (json_int_t)w->window.from_ms, (json_int_t)w->window.to_ms,
                                                    (json_int_t)w->given));
    }
    return list;
}

void meters_load(struct meter *meter, const json_t *j)
{
    const json_t *row;
    size_t i;

    json_array_foreach(j, i, row) {
        json_int_t v[5] = { 0 };

        for (size_t n = 0; n < ARRAY_LEN(v); n++)
            v[n] = json_integer_value(json_array_get(row, n));
        if (v[0] >= 0 && v[0] < UNIT_RATES_MAX)
            meter[v[0]] = (struct meter){ { (uint64_t)v[1], v[2], v[3] }, 0, (uint64_t)v[4] };
    }
}
