/* windows.c: shares whose link has said what it has are given to; so nothing is given twice. */
#include "queuemng/tasks/windows.h"

#include <string.h>

#include "queuemng/policy/budget_def.h"
#include "queuemng/release/budgets.h"
#include "queuemng/state/meters.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/table.h"

struct kth { /* a window of the endpoint's own, or of its budget's */
    const struct unit_rate_def *rate;
    struct meter *meter; /* NULL: the rate has none */
};

static struct kth kth(struct mendpoint *x, struct mbudget *b, size_t k)
{
    const struct cfg_list *rates = &x->def.rates;
    struct meter *meter = x->meter;
    const struct unit_rate_def *r;

    if (k >= rates->n) {
        if (b == NULL || (k -= rates->n) >= b->def.rates.n)
            return (struct kth){ 0 };
        rates = &b->def.rates;
        meter = b->meter;
    }
    r = rates->v;
    return r[k].window == WINDOW_CALENDAR ? (struct kth){ &r[k], &meter[k] } : (struct kth){ 0 };
}

#define each_window(x, b, k, w)                      \
    for (unsigned k = 0; k < UNIT_RATES_MAX; k++)    \
        for (struct kth w = kth(x, b, k); w.meter != NULL; w.meter = NULL)

struct group { /* all whose calls take of the same windows: an endpoint, or those of its budget */
    struct mbudget *b; /* NULL: it has none with windows */
    struct mendpoint **v;
    size_t n, shares;
};

#define each_of(g, x)                          \
    for (size_t x##_i = 0; x##_i < (g)->n; x##_i++) \
        for (struct mendpoint *x = (g)->v[x##_i]; x != NULL; x = NULL)

static bool is_with(const struct mendpoint *x, const struct mendpoint *other)
{
    return strcmp(x->def.budget.name, other->def.budget.name) == 0;
}

static bool group_of(struct mng *m, struct mendpoint *x, struct group *g)
{
    size_t most = 1;

    *g = (struct group){ .b = budget_with_units(m, x) };
    if (g->b != NULL && !meters_any(&g->b->def.rates))
        g->b = NULL;
    if (g->b == NULL && !meters_any(&x->def.rates))
        return false;
    if (g->b != NULL)
        most = m->tasks.endpoints.n;
    g->v = arena_array(&m->out->box.mem, most, sizeof(struct mendpoint *));
    if (g->v == NULL) {
        m->out->box.failed = true;
        return false;
    }
    if (g->b == NULL)
        g->v[g->n++] = x;
    else
        each_endpoint(m, other)
            if (is_with(x, other))
                g->v[g->n++] = other;
    each_of(g, other)
        g->shares += other->shares.n;
    return true;
}

static void stores(struct mng *m, struct mendpoint *x)
{
    endpoint_put_later(m, x->of != NULL ? x->of : x);
}

static struct purse said(const struct mshare *s, unsigned k)
{
    return (struct purse){ { s->st.window[k], 0, 0 }, s->given[k], s->st.used[k] };
}

/* Each of its windows has what its next call needs: what only one had would be taken from others in vain. */
static bool can_have(const struct group *g, struct mendpoint *x, const struct mshare *s)
{
    each_window (x, g->b, k, w) {
        const struct purse has = said(s, k);

        if (!meter_can_give(w.meter, &has, s->given[k], s->st.needs))
            return false;
    }
    return true;
}

static bool give(struct mng *m, const struct group *g, struct mendpoint *x, struct mshare *s)
{
    bool can = can_have(g, x, s), gives = false;

    each_window (x, g->b, k, w) {
        const struct purse has = said(s, k);
        uint64_t given = meter_hears(w.meter, &has, s->given[k]);

        given = meter_gives(w.meter, &has, given, can ? s->st.needs : 0, (unsigned)g->shares);
        if (given == s->given[k])
            continue;
        s->given[k] = given;
        s->gives = gives = true;
    }
    s->refused = can ? 0 : s->refused != 0 ? s->refused : ++m->tasks.serials;
    if (gives)
        stores(m, x);
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
static struct mshare *first(const struct group *g, struct mendpoint **of)
{
    struct mshare *first = NULL;

    each_of (g, x)
        each_share(x, s)
            if (s->refused != 0 && is_here(s) && can_have(g, x, s) && (first == NULL || s->refused < first->refused)) {
                first = s;
                *of = x;
            }
    return first;
}

static bool begins(struct mng *m, const struct group *g, const struct kth *w)
{
    const struct zone z = { m->opts.zones, w->rate->zone };
    struct meter_window at;

    if (!meter_is_over(w->meter, m->sched_ms) || !meter_window_at(&at, unit_rate_seconds(w->rate), &z, m->sched_ms))
        return false;
    meter_begins(w->meter, &at, (m->epoch << 32) + ++m->tasks.serials);
    each_of (g, x)
        each_window (x, g->b, k, other) {
            if (other.meter != w->meter)
                continue;
            each_share(x, s) {
                s->given[k] = 0;
                s->gives = true;
            }
            stores(m, x);
        }
    return true;
}

static bool has_units(const struct group *g)
{
    bool has = true;

    each_of (g, x)
        each_window (x, g->b, k, w)
            has &= w.meter->given < w.meter->units;
    return has;
}

static bool look(struct mng *m, const struct group *g)
{
    bool had = has_units(g), changed = false;
    struct mendpoint *of = NULL;
    struct mshare *s;

    each_of (g, x)
        each_window (x, g->b, k, w) {
            w.meter->units = (uint64_t)w.rate->units;
            changed |= begins(m, g, &w);
            if (w.meter->window.no == 0)
                return changed; /* the zone is not known here */
        }
    while ((s = first(g, &of)) != NULL) {
        if (!is_ready(s))
            return changed; /* the others wait for it */
        changed |= give(m, g, of, s);
    }
    each_of (g, x)
        each_share(x, other)
            if (is_ready(other))
                changed |= give(m, g, x, other);
    if (had != has_units(g))
        each_of (g, x)
            each_share(x, other)
                other->gives = true; /* estimates of waits are others now */
    return changed;
}

void windows_look(struct mng *m, struct mendpoint *x)
{
    struct group g = { 0 };

    if (!x->windows_due)
        return;
    if (group_of(m, x, &g) && look(m, &g) && g.b != NULL)
        budget_put(m, g.b);
    each_of (&g, other)
        other->windows_due = false;
    x->windows_due = false;
}

/* Units of its budget follow behind its own. */
void windows_change(const struct mng *m, struct mendpoint *x, const struct cfg_list *rates, const char *budget)
{
    const struct mbudget *b = strcmp(x->def.budget.name, budget) == 0 ? budget_with_units(m, x) : NULL;
    size_t from[UNIT_RATES_MAX], n = x->def.rates.n;

    meters_move(x->meter, &x->def.rates, rates, from);
    for (size_t k = 0; b != NULL && k < b->def.rates.n && rates->n + k < UNIT_RATES_MAX; k++)
        from[rates->n + k] = n + k;
    each_share(x, s)
        meters_move_given(s, from, 0);
}

uint32_t windows_numbers(struct mendpoint *x, struct mbudget *b, const struct mshare *s, uint64_t *v)
{
    uint32_t n = 0;

    each_window (x, b, k, at) {
        const struct meter *w = at.meter;
        const uint64_t numbers[WINDOW_NUMBERS] = { w->window.no, (uint64_t)w->window.from_ms, (uint64_t)w->window.to_ms,
                                                   s->given[k], w->units - u64_min(w->units, w->given) };

        memcpy(&v[WINDOW_NUMBERS * k], numbers, sizeof(numbers));
        if (w->window.no == 0)
            v[WINDOW_NUMBERS * k + 2] = 1; /* over */
        n = WINDOW_NUMBERS * (k + 1);
    }
    return n;
}
