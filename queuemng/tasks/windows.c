/* windows.c: shares whose link has said what it has are given to; so nothing is given twice. */
#include "queuemng/tasks/windows.h"

#include <string.h>

#include "queuemng/policy/unit_rate_def.h"
#include "queuemng/state/state.h"

static const struct unit_rate_def *rate_at(const struct mendpoint *x, unsigned k)
{
    const struct unit_rate_def *r = x->def.rates.v;

    return k < x->def.rates.n && r[k].window == WINDOW_CALENDAR ? &r[k] : NULL;
}

#define each_window(x, k, r)                                                                 \
    for (unsigned k = 0; k < UNIT_RATES_MAX && k < (x)->def.rates.n; k++)                    \
        for (const struct unit_rate_def *r = rate_at(x, k); r != NULL; r = NULL)

static bool any(const struct mendpoint *x)
{
    each_window (x, k, r)
        return true;
    return false;
}

static struct purse said(const struct mshare *s, unsigned k)
{
    return (struct purse){ { s->st.window[k], 0, 0 }, s->given[k], s->st.used[k] };
}

/* Each of its windows has what its next call needs: what only one had would be taken from others in vain. */
static bool can_have(const struct mendpoint *x, const struct mshare *s)
{
    each_window (x, k, r) {
        const struct purse has = said(s, k);

        if (!meter_can_give(&x->meter[k], &has, s->given[k], s->st.needs))
            return false;
    }
    return true;
}

static bool give(struct mng *m, struct mendpoint *x, struct mshare *s)
{
    bool can = can_have(x, s), gives = false;

    each_window (x, k, r) {
        const struct purse has = said(s, k);
        uint64_t given = meter_hears(&x->meter[k], &has, s->given[k]);

        given = meter_gives(&x->meter[k], &has, given, can ? s->st.needs : 0, (unsigned)x->shares.n);
        if (given == s->given[k])
            continue;
        s->given[k] = given;
        s->gives = gives = true;
    }
    s->refused = can ? 0 : s->refused != 0 ? s->refused : ++m->tasks.serials;
    return gives;
}

static bool is_here(const struct mshare *s)
{
    return s->heard && s->owner && s->node->registered;
}

/* The node has said what it has, and needs, of what it was told last: of this window, too. */
static bool is_ready(const struct mshare *s)
{
    return is_here(s) && s->confirmed && !s->gives;
}

/* The one that was refused the longest ago, and can have what it needs now: so neither a call of more than the
 * window nor one of most of it waits for ever while those of other nodes fit. */
static struct mshare *first(const struct mendpoint *x)
{
    struct mshare *first = NULL;

    each_share(x, s)
        if (s->refused != 0 && is_here(s) && can_have(x, s) && (first == NULL || s->refused < first->refused))
            first = s;
    return first;
}

static bool begins(struct mng *m, struct mendpoint *x, unsigned k, const struct unit_rate_def *r)
{
    const struct zone z = { m->opts.zones, r->zone };
    struct meter_window w;

    if (!meter_is_over(&x->meter[k], m->sched_ms) || !meter_window_at(&w, unit_rate_seconds(r), &z, m->sched_ms))
        return false;
    meter_begins(&x->meter[k], &w, (m->epoch << 32) + ++m->tasks.serials);
    each_share(x, s) {
        s->given[k] = 0;
        s->gives = true;
    }
    return true;
}

bool windows_look(struct mng *m, struct mendpoint *x)
{
    bool had = true, has = true, changed = false;
    struct mshare *s;

    if (!any(x))
        return false;
    each_window (x, k, r) {
        had &= x->meter[k].given < x->meter[k].units;
        x->meter[k].units = (uint64_t)r->units;
        changed |= begins(m, x, k, r);
        if (x->meter[k].window.no == 0)
            return changed; /* the zone is not known here */
    }
    while ((s = first(x)) != NULL) {
        if (!is_ready(s))
            return changed; /* the others wait for it */
        changed |= give(m, x, s);
    }
    each_share(x, other)
        if (is_ready(other))
            changed |= give(m, x, other);
    each_window (x, k, r)
        has &= x->meter[k].given < x->meter[k].units;
    if (had != has)
        each_share(x, other)
            other->gives = true; /* estimates of waits are others now */
    return changed;
}

/* The rate among those of before whose window goes on in this one: the same rate, else one of the same window whose own
 * rate is gone. UNIT_RATES_MAX: none. */
static size_t goes_on(const struct mendpoint *x, const struct meter *meter, const struct cfg_list *rates, size_t k,
                      unsigned used)
{
    const struct unit_rate_def *r = rates->v, *b = x->def.rates.v;
    size_t found = UNIT_RATES_MAX;

    for (size_t i = x->def.rates.n; i-- > 0;) {
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

void windows_change(struct mendpoint *x, const struct cfg_list *rates)
{
    size_t from[UNIT_RATES_MAX];
    struct meter meter[UNIT_RATES_MAX];
    unsigned used = 0;

    memcpy(meter, x->meter, sizeof(meter));
    for (size_t k = 0; k < UNIT_RATES_MAX; k++) {
        from[k] = k < rates->n ? goes_on(x, meter, rates, k, used) : UNIT_RATES_MAX;
        used |= from[k] < UNIT_RATES_MAX ? 1u << from[k] : 0;
        x->meter[k] = from[k] < UNIT_RATES_MAX ? meter[from[k]] : (struct meter){ 0 };
    }
    each_share(x, s) {
        uint64_t given[UNIT_RATES_MAX];

        memcpy(given, s->given, sizeof(given));
        for (size_t k = 0; k < UNIT_RATES_MAX; k++)
            s->given[k] = from[k] < UNIT_RATES_MAX ? given[from[k]] : 0;
    }
}

int windows_known(const struct mng *m, const struct cfg_list *rates, struct err *e)
{
    const struct unit_rate_def *r = rates->v;
    int32_t offset;

    for (size_t k = 0; k < rates->n; k++)
        if (!zone_offset(&(struct zone){ m->opts.zones, r[k].zone }, m->sched_ms / 1000, &offset))
            return err_set(e, SQ_EINVAL, "rates: zone: there is no %s here", r[k].zone);
    return 0;
}

uint32_t windows_numbers(const struct mendpoint *x, const struct mshare *s, uint64_t *v)
{
    bool any = false;

    each_window (x, k, r) {
        const struct meter *w = &x->meter[k];
        const uint64_t n[WINDOW_NUMBERS] = { w->window.no, (uint64_t)w->window.from_ms, (uint64_t)w->window.to_ms,
                                             s->given[k], w->units - u64_min(w->units, w->given) };

        memcpy(&v[WINDOW_NUMBERS * k], n, sizeof(n));
        if (w->window.no == 0)
            v[WINDOW_NUMBERS * k + 2] = 1; /* over */
        any = true;
    }
    return any ? WINDOW_NUMBERS * (uint32_t)x->def.rates.n : 0;
}

json_t *windows_json(const struct mendpoint *x)
{
    json_t *list = NULL;

    each_window (x, k, r) {
        const struct meter *w = &x->meter[k];

        list = list != NULL ? list : json_array();
        (void)json_array_append_new(list, json_pack("[I,I,I,I,I]", (json_int_t)k, (json_int_t)w->window.no,
                                                    (json_int_t)w->window.from_ms, (json_int_t)w->window.to_ms,
                                                    (json_int_t)w->given));
    }
    return list;
}

void windows_load(struct mendpoint *x, const json_t *j)
{
    const json_t *row;
    size_t i;

    json_array_foreach(j, i, row) {
        json_int_t v[5] = { 0 };

        for (size_t n = 0; n < ARRAY_LEN(v); n++)
            v[n] = json_integer_value(json_array_get(row, n));
        if (v[0] >= 0 && v[0] < UNIT_RATES_MAX)
            x->meter[v[0]] = (struct meter){ { (uint64_t)v[1], v[2], v[3] }, 0, (uint64_t)v[4] };
    }
}
