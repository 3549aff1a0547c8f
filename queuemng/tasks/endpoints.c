/* endpoints.c: */
#include "queuemng/tasks/endpoints.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "queuemng/release/budgets.h"
#include "queuemng/state/state.h"
#include "queuemng/state/tasks.h"
#include "queuemng/tasks/endpoint_tell.h"
#include "queuemng/tasks/pools.h"
#include "queuemng/tasks/table.h"
#include "queuemng/tasks/targets.h"

#define LEASE_OVER_MS 10000 /* a call's lease ends so long after its deadline */

static void put_later(struct mng *m, struct mendpoint *x)
{
    endpoint_put_later(m, x->of != NULL ? x->of : x);
}

void shares_forget(struct mng *m, const struct mtask_node *n)
{
    each_bearer(m, x)
        each_share(x, s)
            if (s->node == n) {
                share_free(x, s);
                put_later(m, x);
            }
}

void shares_unsaid(struct mng *m, const struct mtask_node *n)
{
    each_bearer(m, x)
        each_share(x, s)
            if (s->node == n) {
                s->serial = 0;
                s->confirmed = s->heard = false;
                if (n->peer == 0)
                    s->kept = s->held.units;
            }
    m->tasks.split = true;
}

/* ---- divided --------------------------------------------------------------------- */

static uint64_t rate_of(const struct endpoint_def *d)
{
    return d->rate_per_s != 0 ? u64_max(1, (uint64_t)(d->rate_per_s * 1000 + 0.5)) : ENDPOINT_ANY;
}

/* Quotas that answers tell of are divided as rates in units are. */
static uint64_t units_of(const struct endpoint_def *d)
{
    return d->rates.n > 0 || d->remaining.n > 0 ? UNIT_PARTS : ENDPOINT_ANY;
}

static uint64_t less(uint64_t whole, uint64_t n)
{
    return whole == ENDPOINT_ANY ? whole : whole > n ? whole - n : 0;
}

/* Towards what it should be, out of what nobody holds; true: it has changed. */
static bool raise(uint64_t *held, uint64_t want, uint64_t *unheld)
{
    uint64_t more = want > *held ? u64_min(want - *held, *unheld) : 0;

    *held += more;
    *unheld = less(*unheld, more);
    return more != 0;
}

/* Scales a burst like the rate, and at least 1. */
static uint64_t burst_of(const struct mendpoint *x, uint64_t rate, uint64_t whole)
{
    uint64_t burst = (uint64_t)x->def.burst;

    return whole == ENDPOINT_ANY || whole == 0 ? burst : u64_max(1, burst * rate / whole);
}

/* over: more slots are held than there are: calls of before a change, so nobody may begin more than it
 * was told. */
static void say(struct mng *m, struct mendpoint *x, struct mshare *s, uint64_t whole_rate, bool over)
{
    struct bears v = { u64_min(s->held.rate, s->claim.aim.rate), u64_min(s->held.slots, s->claim.aim.slots),
                       u64_min(s->held.units, s->claim.aim.units), u64_min(s->held.shared, s->claim.aim.shared) };
    const struct mbudget *b = budget_with_units(m, x);
    uint64_t shared_version = b != NULL ? b->version : 0;
    bool same;

    if (over)
        v.slots = u64_min(v.slots, s->said.slots);
    same = s->serial != 0 && s->version == x->version && s->orders == x->orders && s->said.rate == v.rate &&
           s->said.slots == v.slots && s->said.units == v.units && s->said.shared == v.shared &&
           s->shared_version == shared_version && !s->gives;
    if (!s->node->registered || (same && (s->confirmed || m->now_ms - s->told_ms < MNG_AGAIN_MS)))
        return;
    if (!same) {
        s->serial = (m->epoch << 32) + ++m->tasks.serials;
        s->version = x->version;
        s->shared_version = shared_version;
        s->gives = false;
        s->orders = x->orders;
        s->said = v;
        s->burst = burst_of(x, v.rate, whole_rate);
        s->confirmed = false;
    }
    endpoint_tell(m, x, s);
}

/* False: it is gone. */
static bool still_there(struct mng *m, struct mendpoint *x, struct mshare *s)
{
    bool over = s->node->peer == 0 &&
                m->now_ms - s->left_ms >= x->def.deadline_ms + LEASE_OVER_MS;

    if (s->owner || (!over && (s->held.rate != 0 || s->held.slots != 0 || s->held.units != 0 || s->held.shared != 0)))
        return true;
    endpoint_drop(m, s->node, x->def.name);
    share_free(x, s);
    put_later(m, x);
    return false;
}

/* Returns its own limits, or its part of its budget. */
static struct bears whole_of(const struct mng *m, struct mendpoint *x)
{
    struct bears part = budget_part(m, x), own = { rate_of(&x->def), endpoint_slots(&x->def), units_of(&x->def), 0 };

    if (x->gone)
        return (struct bears){ ENDPOINT_ANY, 0, own.units, ENDPOINT_ANY };
    x->by_budget = part.rate < own.rate || part.slots < own.slots;
    return (struct bears){ u64_min(own.rate, part.rate), u64_min(own.slots, part.slots), own.units,
                           part.shared };
}

static void divide(struct mng *m, struct mendpoint *x)
{
    struct bears whole = whole_of(m, x), unheld = whole, left;
    bool over = false;

    each_share(x, s)
        if (still_there(m, x, s)) {
            over |= s->held.slots > unheld.slots;
            unheld = (struct bears){ less(unheld.rate, s->held.rate), less(unheld.slots, s->held.slots),
                                     less(unheld.units, s->held.units), less(unheld.shared, s->held.shared) };
        }
    left = budget_unheld(m, x);
    unheld = (struct bears){ u64_min(unheld.rate, left.rate), u64_min(unheld.slots, left.slots), unheld.units,
                             u64_min(unheld.shared, left.shared) };
    demand_aims(m, x, whole);
    each_share(x, s) {
        bool more = raise(&s->held.rate, s->claim.aim.rate, &unheld.rate);

        more |= raise(&s->held.slots, s->claim.aim.slots, &unheld.slots);
        more |= raise(&s->held.units, s->claim.aim.units, &unheld.units);
        more |= raise(&s->held.shared, s->claim.aim.shared, &unheld.shared);
        if (more)
            put_later(m, x);
        say(m, x, s, whole.rate, over);
    }
}

static void owns(struct mng *m, struct mendpoint *x, struct mtask_node *n)
{
    struct mshare *s = share_at(x, n);

    if (s != NULL)
        s->owner = true;
    else
        m->out->box.failed = true;
}

static void find_owners(struct mng *m)
{
    each_bearer(m, x)
        each_share(x, s) {
            if (s->owner)
                s->left_ms = m->now_ms;
            s->owner = false;
        }
    each_pool(m, p) {
        struct mendpoint *x = p->def.endpoint[0] != 0 ? defined_find(m, DEF_ENDPOINT, p->def.endpoint) : NULL;

        if (x == NULL)
            continue;
        each_mpart(p, part) {
            if (part->node == NULL)
                continue;
            owns(m, x, part->node);
            each_target(x, t)
                owns(m, t, part->node);
        }
    }
}

void shares_flush(struct mng *m)
{
    if (!m->tasks.split || !m->started)
        return;
    find_owners(m);
    each_bearer(m, x)
        divide(m, x);
    each_endpoint(m, x)
        targets_tidy(m, x);
    m->tasks.split = false;
}

/* ---- heard ----------------------------------------------------------------------- */

/* Only ever less than was thought. */
static void in_force(struct mng *m, struct mendpoint *x, struct mshare *s)
{
    uint64_t rate = u64_min(s->held.rate, s->said.rate);
    uint64_t slots = u64_min(s->held.slots, u64_max(s->said.slots, s->st.in_flight));
    uint64_t units = u64_min(s->held.units, s->said.units), shared = u64_min(s->held.shared, s->said.shared);

    if (rate == s->held.rate && slots == s->held.slots && units == s->held.units && shared == s->held.shared)
        return;
    s->held = (struct bears){ rate, slots, units, shared };
    put_later(m, x);
}

/* A partition comes with calls that its last node began: their slots are the new node's, whatever it was told,
 * and whatever the last one says when it is started anew. */
static void comes_with(struct mng *m, struct mendpoint *x, struct mshare *s)
{
    if (s->st.in_flight <= s->held.slots)
        return;
    s->held.slots = s->st.in_flight;
    m->tasks.split = true;
    put_later(m, x);
}

static uint64_t and_more(uint64_t n)
{
    return n + (n + 3) / 4;
}

static uint64_t could_use_slots(const struct mshare *s)
{
    return and_more(s->st.in_flight) + s->st.waiting;
}

/* Looks at once at a node that has run dry, or that has tasks and no slot for them. */
static void need_now(struct mng *m, struct mshare *s)
{
    uint64_t slots = could_use_slots(s), thought = u64_max(s->claim.wants.slots, s->claim.wanted.slots);
    bool dry = s->st.waiting == 0 && slots < s->claim.aim.slots && thought > slots;

    if (!dry && (s->st.waiting == 0 || thought >= slots))
        return;
    s->claim.wants.slots = slots;
    s->claim.wanted.slots = slots;
    m->tasks.split = true;
}

void on_endpoint_status(struct mng *m, struct mtask_node *n, const struct msg_endpoint_status *g)
{
    if (g->epoch != m->epoch || !n->registered)
        return;
    for (uint32_t i = 0; i < g->n; i++) {
        struct mendpoint *x = bearer_find(m, g->v[i].name);
        struct mshare *found = x != NULL ? share_find(x, n) : NULL;

        if (found == NULL) {
            endpoint_drop(m, n, g->v[i].name);
            continue;
        }
        found->st = g->v[i];
        found->heard = true;
        found->st.name = found->st.unusable = found->st.probe_said = found->st.reading_said = NULL;
        copy_text(found->probe_said, sizeof(found->probe_said), g->v[i].probe_said);
        copy_text(found->reading_said, sizeof(found->reading_said), g->v[i].reading_said);
        copy_text(found->unusable, sizeof(found->unusable), g->v[i].unusable);
        need_now(m, found);
        comes_with(m, x, found);
        found->confirmed = found->serial != 0 && g->v[i].serial == found->serial;
        if (!found->confirmed)
            continue;
        in_force(m, x, found);
        quotas_left_hear(m, x, &g->v[i]);
        x->windows_due = true;
    }
    each_bearer(m, x)
        windows_look(m, x);
}

/* Parts of rates in units: all while calls wait for its share, else by those that began. */
static uint64_t units_used(const struct cfg_list *rates, const struct mshare *s)
{
    double began = 1.25 * (double)(s->st.units - (s->st.units >= s->units ? s->units : 0)), most = 0;
    const struct unit_rate_def *r = rates->v;

    for (size_t i = 0; i < rates->n; i++) {
        double part = began * (double)unit_rate_seconds(&r[i]) / (double)r[i].units;

        most = part > most ? part : most;
    }
    return s->st.waiting > 0 || most > 1 ? UNIT_PARTS : (uint64_t)(most * UNIT_PARTS);
}

static struct bears could_use(const struct mng *m, const struct mendpoint *x, const struct mshare *s)
{
    const struct mbudget *b = budget_with_units(m, x);
    uint64_t began = s->st.sent - (s->st.sent >= s->sent ? s->sent : 0); /* else it is started anew */

    if (!s->heard)
        return s->held;
    return (struct bears){ 1000 * (and_more(began) + s->st.waiting),
                           could_use_slots(s), units_used(&x->def.rates, s),
                           b != NULL ? units_used(&b->def.rates, s) : 0 };
}

static void add(uint64_t *sum, uint64_t n)
{
    *sum = u64_min(*sum + u64_min(n, ENDPOINT_ANY), ENDPOINT_ANY);
}

void demand_second(struct mng *m)
{
    each_bearer(m, x) {
        struct bears all = { 0 };

        each_share(x, s) {
            claim_says(&s->claim, could_use(m, x, s));
            s->sent = s->st.sent;
            s->units = s->st.units;
            add(&all.rate, s->claim.wants.rate);
            add(&all.slots, s->claim.wants.slots);
            add(&all.shared, s->claim.wants.shared);
        }
        claim_says(&x->claim, all);
        quotas_left_spread(m, x);
        x->windows_due = true;
        m->tasks.split = true;
    }
    each_bearer(m, x)
        windows_look(m, x);
}

void demand_aims(struct mng *m, struct mendpoint *x, struct bears whole)
{
    struct claim **v = arena_array(&m->out->box.mem, x->shares.n, sizeof(struct claim *));
    struct fair *f = arena_array(&m->out->box.mem, x->shares.n, sizeof(*f));
    size_t n = 0;

    if (v == NULL || f == NULL) {
        m->out->box.failed = true;
        return;
    }
    each_share(x, s) {
        s->claim.no = s->node->no;
        s->claim.weight = 1;
        if (s->owner)
            v[n++] = &s->claim;
        else
            s->claim.aim = (struct bears){ 0 };
    }
    claims_divide(v, n, whole, m->now_ms, f);
}

#define LOG_MODULE "tasks"

static bool has_pool(const struct mng *m, const char *name)
{
    each_pool(m, p)
        if (strcmp(p->def.endpoint, name) == 0)
            return true;
    return false;
}

static int make_pool(struct mng *m, const char *name, int64_t least, struct err *e)
{
    struct pool_def d = { 0 };
    char json[2 * TASK_NAME_MAX + 40]; /* a name has nothing that must be escaped */
    int rc;

    snprintf(json, sizeof(json), "{\"match\":\"%s\",\"endpoint\":\"%s\"}", name, name);
    rc = cfg_read_json(&d, sizeof(d), pool_def_keys, json, strlen(json), NULL, e);
    if (rc == 0)
        rc = pool_def_check(&d, e);
    d.max_cost = d.max_cost < least ? least : d.max_cost;
    if (rc == 0)
        rc = pool_define(m, NULL, &d, e);
    cfg_clear(&d, pool_def_keys);
    return rc;
}

static int endpoint_make(struct mng *m, const struct endpoint_def *d, bool own_pool, struct err *e)
{
    struct mendpoint *x;
    int rc = targets_room(m, NULL, d, e);

    if (rc < 0)
        return rc;
    if (own_pool && defined_find(m, DEF_POOL, d->name) != NULL)
        return err_set(e, SQ_ECONFLICT, "endpoint %s: there is a pool of this name whose tasks "
                       "workers take: delete it, or give the endpoint another name", d->name);
    x = defined_new(m, DEF_ENDPOINT, d);
    if (x == NULL)
        return err_set(e, SQ_ENOMEM, "endpoint %s: out of memory", d->name);
    list_init(&x->shares);
    list_init(&x->targets);
    list_init(&x->names);
    rc = targets_follow(m, x, "", e);
    if (rc == 0 && own_pool)
        rc = make_pool(m, d->name, d->cost.min, e);
    if (rc < 0) {
        endpoint_free(m, x);
        return rc;
    }
    endpoint_put_later(m, x);
    log_info("event=endpoint_created endpoint=%s url=%s targets=%zu", d->name, log_q(d->url, strlen(d->url)),
             d->targets.n);
    return 0;
}

static int endpoint_change(struct mng *m, struct mendpoint *x, const struct endpoint_def *d,
                           struct err *e)
{
    char was[ENDPOINT_URL_MAX + 1], told_was[TOLD_ROWS_MAX + 1], told[TOLD_ROWS_MAX + 1];
    int rc;

    if (defined_equals(DEF_ENDPOINT, x, d))
        return 0;
    rc = targets_room(m, x, d, e);
    if (rc < 0)
        return rc;
    task_map_changed(m); /* perhaps another url */
    if (strcmp(x->def.budget.name, d->budget.name) != 0) {
        budget_leaves(m, x);
        x->claim.aim.shared = 0; /* no part yet of what another one has */
    }
    endpoint_told_rows(&x->def, told_was);
    endpoint_told_rows(d, told);
    if (strcmp(told, told_was) != 0)
        quotas_left_forget(x);
    copy_text(was, sizeof(was), x->def.url);
    windows_change(m, x, &d->rates, d->budget.name);
    rc = defined_change(DEF_ENDPOINT, x, d, e);
    if (rc == 0)
        rc = targets_follow(m, x, was, e);
    if (rc < 0)
        return rc;
    endpoint_put_later(m, x);
    log_info("event=endpoint_changed endpoint=%s version=%llu", d->name,
             (unsigned long long)x->version);
    return 0;
}

static int define(struct mng *m, struct mendpoint *x, const struct endpoint_def *d, bool own_pool,
                  struct err *e)
{
    const struct endpoint_target *t = d->targets.v;
    int rc = meters_known(m, &d->rates, e);

    for (size_t i = 0; i < d->targets.n && rc == 0; i++)
        rc = meters_known(m, &t[i].rates, e);
    if (rc == 0)
        rc = pools_push_auth(m, d, NULL, e);
    if (rc < 0 || budget_named(m, &d->budget, d->rates.n, e) < 0)
        return err_wrap(e, "endpoint %s", d->name);
    return x == NULL ? endpoint_make(m, d, own_pool && !has_pool(m, d->name), e)
                     : endpoint_change(m, x, d, e);
}

int endpoint_define(struct mng *m, void *x, const void *def, struct err *e)
{
    return define(m, x, def, true, e);
}

int endpoint_define_alone(struct mng *m, void *x, const void *def, struct err *e)
{
    return define(m, x, def, false, e);
}

static uint64_t next_number(struct mng *m)
{
    return (m->epoch << 32) + ++m->tasks.serials;
}

void endpoint_order(struct mng *m, struct mendpoint *x, enum endpoint_order o)
{
    if (o == ENDPOINT_TRIP && x->tripped)
        return;
    x->orders = next_number(m);
    if (o == ENDPOINT_PROBE) {
        x->probe = x->orders;
        targets_obey(x);
        m->tasks.split = true;
        log_info("event=endpoint_probed endpoint=%s", x->def.name);
        return;
    }
    x->tripped = o == ENDPOINT_TRIP;
    x->resets = o == ENDPOINT_RESET ? x->orders : x->resets;
    if (o == ENDPOINT_RESET)
        quotas_left_forget(x);
    targets_obey(x);
    endpoint_put_later(m, x);
    if (x->tripped)
        log_warn("event=endpoint_tripped endpoint=%s", x->def.name);
    else
        log_info("event=endpoint_reset endpoint=%s", x->def.name);
}

int endpoint_may_remove(const struct mng *m, const void *endpoint, bool final, struct err *e)
{
    const struct mendpoint *x = endpoint;
    const char *route = route_with(m, x->def.name);

    if (route != NULL)
        return err_set(e, SQ_ECONFLICT, "endpoint %s: route %s names it: change that one first", x->def.name,
                       route);
    if (final)
        return 0;
    each_pool(m, p) {
        int rc = 0;

        if (strcmp(p->def.endpoint, x->def.name) != 0)
            continue;
        if (strcmp(p->def.match, x->def.name) == 0)
            rc = pool_may_remove(m, p, false, e);
        else
            rc = err_set(e, SQ_ECONFLICT, "endpoint %s: the tasks of pool %s are calls to it. With "
                         "final=true the pools go with it", x->def.name, p->def.match);
        if (rc < 0)
            return rc;
    }
    return 0;
}

void endpoint_remove(struct mng *m, void *endpoint)
{
    struct mendpoint *x = endpoint;

    log_warn("event=endpoint_removed endpoint=%s", x->def.name);
    budget_leaves(m, x);
    each_pool(m, p)
        if (strcmp(p->def.endpoint, x->def.name) == 0)
            pool_remove(m, p);
    each_share(x, s)
        endpoint_drop(m, s->node, x->def.name);
    targets_drop(m, x);
    defined_del(m, DEF_ENDPOINT, x);
    endpoint_free(m, x);
}
