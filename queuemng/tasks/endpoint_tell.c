/* endpoint_tell.c: */
#include "queuemng/tasks/endpoint_tell.h"

#include <stdio.h>
#include <string.h>

#include "queuemng/policy/budget_def.h"
#include "queuemng/release/budgets.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"
#include "queuemng/state/tasks.h"
#include "queuemng/tasks/table.h"

/* ---- calendar windows: shares whose link has said what it has are given to, so nothing is given twice ---- */

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

/* Numbers as ENDPOINT has them, also of its budget's (or NULL); how many of them. */
static uint32_t windows_numbers(struct mendpoint *x, struct mbudget *b, const struct mshare *s, uint64_t *v)
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

/* ---- what a node is told ---- */

/* Scales its least like the whole, and at least 1. */
static uint64_t adaptive_part(const struct endpoint_def *d, uint64_t slots)
{
    uint64_t whole = endpoint_slots(d);

    return d->adaptive.max == 0 || d->targets.n > 0 ? 0 : u64_max(1, (uint64_t)d->adaptive.min * slots / whole);
}

static uint64_t thousandths(double v, uint64_t none)
{
    return v >= 0 ? (uint64_t)(v * 1000 + 0.5) : none;
}

static void put_readings(struct arena *a, const struct endpoint_def *d, struct msg_endpoint *g)
{
    const struct endpoint_watch *v = d->readings.v;

    g->reading_path = arena_strdup(a, d->readings_path);
    g->reading_ms = (uint32_t)d->readings_interval_ms;
    g->reading_stale_ms = (uint32_t)d->readings_stale_ms;
    g->readings = arena_array(a, (uint32_t)d->readings.n, sizeof(*g->readings));
    for (; g->readings != NULL && g->n_readings < d->readings.n; g->n_readings++) {
        const struct endpoint_watch *w = &v[g->n_readings];
        uint64_t close = thousandths(w->close_above, ENDPOINT_ANY);

        g->readings[g->n_readings] = (struct endpoint_reading){
            arena_strdup(a, w->metric), arena_strdup(a, w->labels), (uint32_t)w->several, close,
            thousandths(w->open_below, close), thousandths(w->narrow_from, ENDPOINT_ANY),
            thousandths(w->narrow_to, ENDPOINT_ANY),
        };
    }
}

static void put_told(struct arena *a, const struct mng *m, const struct mendpoint *x, struct msg_endpoint *g)
{
    char rows[TOLD_ROWS_MAX + 1];

    endpoint_told_rows(&x->def, rows);
    g->told = arena_strdup(a, rows);
    if (rows[0] == 0)
        return;
    g->n_told_word = 2 * TOLD_MAX;
    g->told_word = arena_array(a, g->n_told_word, sizeof(uint64_t));
    for (unsigned i = 0; g->told_word != NULL && i < TOLD_MAX; i++) {
        g->told_word[2 * i] = x->told[i].left;
        g->told_word[2 * i + 1] = (uint64_t)ms_max(x->told[i].until - m->now_ms, 0);
    }
}

/* How a call goes out, and what its answer may be. */
static void put_request(struct arena *a, const struct mendpoint *x, struct msg_endpoint *g)
{
    const struct endpoint_def *d = &x->def;
    char auth_field[ENDPOINT_AUTH_MAX + 1];

    snprintf(auth_field, sizeof(auth_field), "%s: %s%s", d->auth.header, d->auth.scheme,
             d->auth.scheme[0] != 0 ? " " : "");
    g->url = arena_strdup(a, d->url);
    g->address = arena_strdup(a, x->address);
    g->n_allow = (uint32_t)d->allow.n;
    g->allow = arena_array(a, g->n_allow, sizeof(*g->allow));
    for (uint32_t i = 0; g->allow != NULL && i < g->n_allow; i++)
        g->allow[i] = arena_strdup(a, ((char *const *)d->allow.v)[i]);
    g->deadline_ms = (uint32_t)d->deadline_ms;
    g->connect_timeout_ms = (uint32_t)d->connect_timeout_ms;
    g->secret_file = arena_strdup(a, d->sign.secret_file);
    g->ca_file = arena_strdup(a, d->tls.ca_file);
    g->cert_file = arena_strdup(a, d->tls.cert_file);
    g->key_file = arena_strdup(a, d->tls.key_file);
    g->proxy = arena_strdup(a, d->proxy);
    g->auth_field = arena_strdup(a, auth_field);
    g->auth_file = arena_strdup(a, d->auth.secret_file);
    g->max_answer = (uint64_t)d->max_answer;
}

/* Whether, and to which target, calls go now. */
static void put_state(struct arena *a, const struct mendpoint *x, struct msg_endpoint *g)
{
    const struct endpoint_def *d = &x->def;

    g->paused = d->paused;
    g->breaker_ratio = (uint32_t)(d->breaker.ratio * 100 + 0.5);
    g->breaker_min = (uint32_t)d->breaker.min;
    g->breaker_open_ms = (uint32_t)d->breaker.open_ms;
    g->tripped = x->tripped;
    g->resets = x->resets;
    g->probe = x->probe;
    g->targets = d->targets.n > 0;
    g->of = x->of != NULL ? arena_strdup(a, x->of->def.name) : "";
    g->target = x->no;
    g->weight = x->weight;
    g->affinity = (uint32_t)d->affinity;
    g->affinity_bound = (uint32_t)(d->affinity_bound * 100 + 0.5);
}

/* Rates in units: its own, then its budget's, as many as it has room for. */
static void put_units(struct arena *a, struct mendpoint *x, struct mbudget *b, const struct mshare *s,
                      struct msg_endpoint *g)
{
    const struct endpoint_def *d = &x->def;

    g->n_shared = b != NULL ? (uint32_t)u64_min(b->def.rates.n, UNIT_RATES_MAX - d->rates.n) : 0;
    g->n_unit_rates = 3 * ((uint32_t)d->rates.n + g->n_shared);
    g->unit_rates = arena_array(a, 6 * UNIT_RATES_MAX, sizeof(uint64_t));
    if (g->unit_rates != NULL) {
        unit_rates_put(&d->rates, g->unit_rates);
        if (g->n_shared > 0) /* a definition with more is refused (budget_named()) */
            unit_rates_put(&b->def.rates, g->unit_rates + 3 * d->rates.n);
    }
    g->unit_window = arena_array(a, WINDOW_NUMBERS * UNIT_RATES_MAX, sizeof(uint64_t));
    if (g->unit_window != NULL)
        g->n_unit_window = windows_numbers(x, b, s, g->unit_window);
    g->unit_part = s->said.units;
    g->unit_kept = s->kept;
    g->shared_part = s->said.shared;
    g->used = arena_strdup(a, d->cost.used);
    g->used_header = arena_strdup(a, d->cost.used_header);
    g->used_most = (uint64_t)d->cost.max;
    g->on_quota = (uint32_t)d->on_quota;
}

void endpoint_tell(struct mng *m, struct mendpoint *x, struct mshare *s)
{
    struct arena *a = &m->out->box.mem;
    const struct endpoint_def *d = &x->def;
    struct msg_endpoint *g = &mng_to(m, s->node->peer, MSG_ENDPOINT)->endpoint;

    *g = (struct msg_endpoint){ .epoch = m->epoch,
                                .name = arena_strdup(a, d->name),
                                .serial = s->serial,
                                .version = x->version,
                                .rate = s->said.rate,
                                .burst = s->burst,
                                .max_concurrent = s->said.slots,
                                .adaptive_min = adaptive_part(d, s->said.slots),
                                .budget = arena_strdup(a, x->by_budget ? d->budget.name : "") };
    put_request(a, x, g);
    put_state(a, x, g);
    put_units(a, x, budget_with_units(m, x), s, g);
    put_readings(a, d, g);
    put_told(a, m, x, g);
    m->out->box.failed = m->out->box.failed || a->failed;
    s->told_ms = m->now_ms;
}

void endpoint_drop(struct mng *m, const struct mtask_node *n, const char *name)
{
    struct msg_endpoint_drop *g;

    if (!n->registered)
        return;
    g = &mng_to(m, n->peer, MSG_ENDPOINT_DROP)->endpoint_drop;
    g->epoch = m->epoch;
    g->name = arena_strdup(&m->out->box.mem, name);
    m->out->box.failed = m->out->box.failed || g->name == NULL;
}

void quotas_left_hear(struct mng *m, struct mendpoint *x, const struct endpoint_row *r)
{
    for (unsigned i = 0; i < TOLD_MAX; i++) {
        struct mtold *t = &x->told[i];

        if (r->told_ms[i] > 0 && (m->now_ms >= t->until || r->told_left[i] < t->left))
            *t = (struct mtold){ r->told_left[i], m->now_ms + (msec_t)u64_min(r->told_ms[i], 86400000) };
    }
}

void quotas_left_forget(struct mendpoint *x)
{
    memset(x->told, 0, sizeof(x->told));
    each_target(x, t)
        memset(t->told, 0, sizeof(t->told));
}

void quotas_left_spread(struct mng *m, struct mendpoint *x)
{
    each_share(x, s) {
        bool lacks = false;

        for (unsigned i = 0; i < x->def.remaining.n && i < TOLD_MAX; i++)
            lacks |= m->now_ms < x->told[i].until && s->st.told_ms[i] == 0;
        if (lacks && s->node->registered && s->heard && s->confirmed && s->serial != 0)
            endpoint_tell(m, x, s);
    }
}
