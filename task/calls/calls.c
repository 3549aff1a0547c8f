/* calls.c: endpoints are few (a list), calls on their way as many as slots. */
#include "task/calls/calls.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "task/calls/affinity.h"
#include "task/containers/rate.h"

#define LOG_MODULE "calls"

#define RAMP_FIRST     0.1
#define RAMP_FACTOR    1.5 /* a second */
#define ASIDE_MS       1000
#define NO_SHARE_MS    1000 /* shares are divided each second */
#define LACKED_MS      1000
#define SLOTS_ANY      1000 /* where the definition has no bound: descriptors have one */

/* ---- definitions --------------------------------------------------------------------------- */

void calls_init(struct calls *c)
{
    *c = (struct calls){ .most = SIZE_MAX };
    list_init(&c->endpoints);
    list_init(&c->going);
    list_init(&c->early);
    list_init(&c->eased);
    list_init(&c->joined);
    map_init(&c->by_id, 0); /* our own numbers */
    map_init(&c->by_task, 0);
}

/* Texts of a definition that a copy of it owns. */
static const size_t def_texts[] = {
    offsetof(struct msg_endpoint, url),       offsetof(struct msg_endpoint, secret_file),
    offsetof(struct msg_endpoint, ca_file),   offsetof(struct msg_endpoint, cert_file),
    offsetof(struct msg_endpoint, key_file),  offsetof(struct msg_endpoint, proxy),
    offsetof(struct msg_endpoint, budget),    offsetof(struct msg_endpoint, auth_field),
    offsetof(struct msg_endpoint, auth_file),  offsetof(struct msg_endpoint, reading_path),
    offsetof(struct msg_endpoint, used),      offsetof(struct msg_endpoint, used_header),
};

static char **def_text(const struct msg_endpoint *d, size_t i)
{
    return (char **)(uintptr_t)((const char *)d + def_texts[i]);
}

static void def_free(struct msg_endpoint *d)
{
    for (uint32_t i = 0; i < d->n_readings; i++) {
        free((char *)d->readings[i].metric);
        free((char *)d->readings[i].labels);
    }
    free(d->readings);
    for (uint32_t i = 0; i < d->n_allow; i++)
        free((char *)d->allow[i]);
    free(d->allow);
    for (size_t i = 0; i < ARRAY_LEN(def_texts); i++)
        free(*def_text(d, i));
    *d = (struct msg_endpoint){ 0 };
}

static bool readings_copy(struct msg_endpoint *d, const struct msg_endpoint *m)
{
    bool ok = true;

    d->readings = calloc(m->n_readings + 1, sizeof(*d->readings));
    d->n_readings = d->readings != NULL ? m->n_readings : 0;
    for (uint32_t i = 0; i < d->n_readings; i++) {
        d->readings[i] = m->readings[i];
        d->readings[i].metric = strdup(m->readings[i].metric);
        d->readings[i].labels = strdup(m->readings[i].labels);
        ok &= d->readings[i].metric != NULL && d->readings[i].labels != NULL;
    }
    return ok && d->readings != NULL;
}

/* A copy that owns its texts. False: no memory; def_free(). */
static bool def_copy(struct msg_endpoint *d, const struct msg_endpoint *m)
{
    bool ok = true;

    *d = *m;
    d->name = d->of = NULL;
    d->allow = NULL;
    d->n_allow = 0;
    d->unit_rates = NULL; /* struct quota has them */
    d->n_unit_rates = 0;
    for (size_t i = 0; i < ARRAY_LEN(def_texts); i++)
        ok &= (*def_text(d, i) = strdup(*def_text(m, i) != NULL ? *def_text(m, i) : "")) != NULL;
    ok &= readings_copy(d, m);
    d->allow = calloc(m->n_allow + 1, sizeof(*d->allow));
    d->n_allow = d->allow != NULL ? m->n_allow : 0;
    ok &= d->allow != NULL;
    for (uint32_t i = 0; i < d->n_allow; i++)
        ok &= (d->allow[i] = strdup(m->allow[i])) != NULL;
    return ok;
}

bool endpoint_is_over(const struct endpoint *ep)
{
    return ep->def.serial == 0 && ep->in_flight == 0 && ep->target == NULL && ep->targets.n == 0;
}

void calls_forget(struct calls *c, struct endpoint *ep)
{
    assert(ep->in_flight == 0 && ep->target == NULL);
    assert(ep->targets.n == 0);
    list_remove(&c->endpoints, &ep->in);
    if (ep->of != NULL)
        list_remove(&ep->of->targets, &ep->in_of);
    def_free(&ep->def);
    free(ep);
}

void calls_fini(struct calls *c)
{
    each_going (c, g)
        calls_end(c, g, 0);
    each_endpoint (c, ep)
        if (ep->of != NULL)
            calls_forget(c, ep);
    each_endpoint (c, ep)
        calls_forget(c, ep);
    map_fini(&c->by_id);
    map_fini(&c->by_task);
}

struct endpoint *calls_find(const struct calls *c, const char *name)
{
    each_endpoint (c, ep) {
        if (strcmp(ep->name, name) == 0)
            return ep;
    }
    return NULL;
}

static struct rate rate_of(const struct endpoint *ep)
{
    double per_s = ep->def.rate == ENDPOINT_ANY ? 0 : (double)ep->def.rate / 1000;

    return rate_make(per_s, (uint32_t)u64_min(u64_max(ep->def.burst, 1), RATE_BURST_MAX));
}

/* A part of 1. */
static double ramp_share(const struct endpoint *ep, msec_t now)
{
    double share = RAMP_FIRST;

    for (msec_t ms = ep->ramp == MSEC_NEVER ? 0 : now - ep->ramp; ms > 0 && share < 1; ms -= 1000)
        share *= 1 + (RAMP_FACTOR - 1) * (double)ms_min(ms, 1000) / 1000;
    return ep->ramp == MSEC_NEVER || share > 1 ? 1 : share;
}

/* Stretches the interval of its rate on the ramp. */
static struct rate rate_now(const struct endpoint *ep, msec_t now)
{
    struct rate r = rate_of(ep);

    r.interval_ns = (int64_t)((double)r.interval_ns / ramp_share(ep, now));
    if (r.burst_ns < r.interval_ns)
        r.burst_ns = r.interval_ns;
    return r;
}

static struct endpoint *endpoint_new(struct calls *c, const char *name, msec_t now)
{
    struct endpoint *ep = calloc(1, sizeof(*ep));

    if (ep == NULL)
        return NULL;
    copy_text(ep->name, sizeof(ep->name), name);
    budget_init(&ep->budget, now);
    list_init(&ep->targets);
    list_push_back(&c->endpoints, &ep->in);
    return ep;
}

static bool is_good(const struct msg_endpoint *m)
{
    return m->serial != 0 && m->deadline_ms > 0 && m->deadline_ms <= 86400000 &&
           (m->rate == ENDPOINT_ANY || m->rate <= RATE_PER_1000_S) &&
           m->n_allow <= ENDPOINT_ALLOW_MAX &&
           (m->target != 0) == (m->of != NULL && m->of[0] != 0) && m->target <= TARGET_NO_MAX &&
           (m->affinity == AFFINITY_NONE || m->affinity_bound >= AFFINITY_PERCENT);
}

/* A target: below its endpoint, also if that is not told yet. NULL: no memory. */
static struct endpoint *target_new(struct calls *c, const struct msg_endpoint *m, msec_t now)
{
    struct endpoint *of = calls_find(c, m->of), *ep;

    if (of == NULL && (of = endpoint_new(c, m->of, now)) == NULL)
        return NULL;
    ep = endpoint_new(c, m->name, now);
    if (ep == NULL)
        return NULL;
    ep->of = of;
    list_push_back(&of->targets, &ep->in_of);
    return ep;
}

static struct endpoint *find_or_new(struct calls *c, const struct msg_endpoint *m, msec_t now)
{
    struct endpoint *ep = calls_find(c, m->name);

    return ep != NULL ? ep : m->target != 0 ? target_new(c, m, now) : endpoint_new(c, m->name, now);
}

/* Closes its breaker, and forgets failures, also what Retry-After said. */
static void reset(struct endpoint *ep, msec_t now)
{
    ep->breaker = (struct breaker){ 0 };
    ep->held = 0;
    ep->ramp = now;
}

/* A new node does not probe: the order may be an old one. */
static void obey(struct endpoint *ep, const struct msg_endpoint *d, bool is_new, msec_t now)
{
    if (!is_new && d->resets != 0 && d->resets != ep->resets)
        reset(ep, now);
    ep->resets = d->resets;
    if (d->probe != 0 && d->probe != ep->hand.no)
        ep->hand = (struct hand_probe){ .no = d->probe,
                                        .state = is_new ? PROBE_NONE : PROBE_ASKED };
}

int calls_define(struct calls *c, const struct msg_endpoint *m, msec_t now)
{
    struct endpoint *ep = calls_find(c, m->name);
    struct msg_endpoint d;
    struct rate r, was;

    if (!is_good(m))
        return SQ_EINVAL;
    if (ep != NULL && ep->def.serial == m->serial) {
        ep->def.max_answer = m->max_answer; /* a newer manager may say it, of the same definition */
        return 0;
    }
    if (!def_copy(&d, m) || (ep = find_or_new(c, m, now)) == NULL) {
        def_free(&d);
        return SQ_ENOMEM;
    }
    if (ep->def.serial == 0 || (ep->def.paused && !d.paused) || (ep->def.tripped && !d.tripped))
        ep->ramp = now;
    obey(ep, &d, ep->def.serial == 0, now);
    was = ep->def.serial != 0 ? rate_now(ep, now) : (struct rate){ 0 };
    if (!pressure_same(&ep->def, &d))
        ep->pressure = (struct pressure){ 0 };
    def_free(&ep->def);
    ep->def = d;
    ep->url_hash = affinity_hash(d.url, strlen(d.url));
    r = rate_now(ep, now);
    ep->tat = rate_keeps(&r, &was, ep->tat, now);
    quota_define(&ep->quota, m->unit_rates, m->n_unit_rates / 3, m->unit_part, now);
    return 0;
}

void calls_drop(struct calls *c, const char *name)
{
    struct endpoint *ep = calls_find(c, name);

    if (ep == NULL)
        return;
    def_free(&ep->def);
}

/* ---- what may go now ----------------------------------------------------------------------- */

static uint64_t bound(const struct endpoint *ep)
{
    return ep->def.max_concurrent == ENDPOINT_ANY ? SLOTS_ANY : ep->def.max_concurrent;
}

static bool is_adaptive(const struct endpoint *ep)
{
    return ep->def.adaptive_min > 0 && ep->def.max_concurrent > 0;
}

static struct adaptive_rules adaptive_rules(const struct endpoint *ep)
{
    return (struct adaptive_rules){ u64_min(ep->def.adaptive_min, bound(ep)), bound(ep) };
}

uint64_t endpoint_adaptive(const struct endpoint *ep)
{
    struct adaptive_rules r = adaptive_rules(ep);

    return is_adaptive(ep) ? adaptive_limit(&ep->adaptive, &r) : 0;
}

bool endpoint_lacks_share(const struct endpoint *ep, msec_t now)
{
    uint64_t most = is_adaptive(ep) ? endpoint_adaptive(ep) : bound(ep);

    return !endpoint_is_down(ep) && now >= ep->held && !pressure_closes(&ep->pressure, &ep->def, now) &&
           (most == bound(ep) || ep->running < most);
}

#define each_target(ep, x) list_each_of(&(ep)->targets, struct endpoint, in_of, x)

bool endpoint_is_down(const struct endpoint *ep)
{
    if (!ep->def.targets)
        return ep->breaker.state != BREAKER_CLOSED || ep->def.tripped || !ep->usable;
    each_target (ep, x)
        if (x->def.serial != 0 && !x->def.paused && !endpoint_is_down(x))
            return ep->def.tripped;
    return true;
}

bool endpoint_would_try(const struct endpoint *ep, msec_t now)
{
    if (!ep->def.targets)
        return ep->def.serial != 0 && ep->usable && !ep->def.paused && breaker_would_let(&ep->breaker, now);
    each_target (ep, x)
        if (endpoint_would_try(x, now))
            return true;
    return false;
}

const char *endpoint_unusable(const struct endpoint *ep)
{
    const char *why = "";

    if (!ep->def.targets)
        return ep->unusable;
    each_target (ep, x) {
        if (x->def.serial != 0 && x->unusable[0] == 0)
            return "";
        why = x->def.serial != 0 ? x->unusable : why;
    }
    return why;
}

/* Beyond the ramp. */
static uint64_t all_slots(const struct endpoint *ep, msec_t now)
{
    return pressure_slots(&ep->pressure, &ep->def, is_adaptive(ep) ? endpoint_adaptive(ep) : bound(ep), now);
}

static uint64_t slots(const struct endpoint *ep, msec_t now)
{
    double share = ramp_share(ep, now);
    uint64_t most = all_slots(ep, now);

    return most == 0 || share >= 1 ? most : u64_max((uint64_t)((double)most * share), 1);
}

static bool is_open(const struct endpoint *ep, uint64_t running, msec_t now)
{
    return ep->def.serial != 0 && ep->usable && !ep->def.paused && !ep->def.tripped &&
           ep->def.rate != 0 && !pressure_closes(&ep->pressure, &ep->def, now) && running < slots(ep, now);
}

/* Is one of its targets well, perhaps with all slots in use? */
static bool is_well_somewhere(const struct endpoint *ep, msec_t now)
{
    each_target (ep, x)
        if (x->def.serial != 0 && !x->def.paused && !endpoint_is_down(x) && now >= x->held && now >= x->aside)
            return true;
    return false;
}

/* A target that is aside gets nothing while another is well: a call would come back from it at once. */
static bool lets_target(struct endpoint *x, bool well, msec_t now)
{
    return (!well || now >= x->aside) && endpoint_lets(x, x->running, now);
}

static bool lets_somewhere(struct endpoint *ep, msec_t now)
{
    bool well = is_well_somewhere(ep, now);

    each_target (ep, x)
        if (lets_target(x, well, now))
            return true;
    return false;
}

bool endpoint_lets(struct endpoint *ep, uint64_t running, msec_t now)
{
    struct rate r = rate_now(ep, now);

    if (!is_open(ep, running, now) || !rate_lets(&r, ep->tat, now) || quota_most(&ep->quota, now) == 0)
        return false;
    if (ep->def.targets)
        return lets_somewhere(ep, now);
    return now >= ep->held && breaker_lets(&ep->breaker, now);
}

uint64_t endpoint_affinity(const struct endpoint *ep, const char *key1, const char *key2)
{
    uint64_t h = affinity_hash(key1, strlen(key1));

    if (ep->def.affinity == AFFINITY_NONE || key1[0] == 0)
        return 0;
    return ep->def.affinity == AFFINITY_SUBKEY && key2[0] != 0 ? h * 3 + affinity_hash(key2, strlen(key2)) : h;
}

struct candidates {
    struct target_room room[TARGET_NO_MAX];
    struct affine affine[TARGET_NO_MAX];
    struct endpoint *at[TARGET_NO_MAX];
    size_t n;
};

/* Targets; those that let no call of so many units begin have no slot free. */
static void list_candidates(const struct endpoint *ep, struct candidates *c, uint64_t cost, msec_t now)
{
    bool well = is_well_somewhere(ep, now);

    c->n = 0;
    each_target (ep, x) {
        bool lets = lets_target(x, well, now) && quota_most(&x->quota, now) >= cost;
        uint64_t free = lets ? slots(x, now) - x->running : 0;

        if (c->n == TARGET_NO_MAX)
            break;
        c->room[c->n] = (struct target_room){ free, x->running, x->def.weight, now < x->aside, x->credit };
        c->affine[c->n] = (struct affine){ x->url_hash, x->def.serial != 0 && !x->def.paused && !endpoint_is_down(x) };
        c->at[c->n++] = x;
    }
}

static struct endpoint *by_room(struct candidates *c)
{
    size_t best = target_pick(c->room, c->n);

    for (size_t i = 0; i < c->n; i++)
        c->at[i]->credit = c->room[i].credit;
    return best != TARGET_NONE ? c->at[best] : NULL;
}

static void lacks(struct endpoint *ep, msec_t now)
{
    if (now - ep->lacked_at >= LACKED_MS)
        ep->lacked = 0;
    if (ep->lacked++ == 0)
        ep->lacked_at = now;
}

uint64_t endpoint_lacked(const struct endpoint *ep, msec_t now)
{
    return now - ep->lacked_at < 2 * LACKED_MS ? ep->lacked : 0;
}

static struct endpoint *by_affinity(const struct candidates *c, uint64_t key, uint32_t bound, msec_t now)
{
    struct affine_choice k = affinity_pick(c->room, c->affine, c->n, key, bound);
    struct endpoint *first = k.first != TARGET_NONE ? c->at[k.first] : NULL;

    if (k.at != TARGET_NONE && first != NULL) {
        first->n.affine += k.at == k.first;
        first->n.astray += k.at != k.first;
        if (k.at != k.first && first->running >= first->def.max_concurrent)
            lacks(first, now);
    }
    return k.at != TARGET_NONE ? c->at[k.at] : NULL;
}

struct endpoint *endpoint_target(struct endpoint *ep, uint64_t affinity, uint64_t cost, msec_t now)
{
    struct candidates c;

    if (!ep->def.targets)
        return ep;
    list_candidates(ep, &c, cost, now);
    return affinity != 0 ? by_affinity(&c, affinity, ep->def.affinity_bound, now) : by_room(&c);
}

/* When one of its targets may take a call by itself. */
static msec_t targets_when(const struct endpoint *ep, msec_t now)
{
    msec_t when = MSEC_NEVER, one;

    each_target (ep, x) {
        one = endpoint_when(x, x->running, now);
        when = ms_min(when, one == MSEC_NEVER || now >= x->aside ? one : ms_max(one, x->aside));
    }
    return when;
}

/* From when one that is well has a slot free; MSEC_NEVER: when a call ends. */
static msec_t targets_free(const struct endpoint *ep, msec_t now)
{
    msec_t when = MSEC_NEVER;

    each_target (ep, x)
        if (x->def.serial != 0 && !x->def.paused && !endpoint_is_down(x) &&
            !pressure_closes(&x->pressure, &x->def, now) && x->running < slots(x, now))
            when = ms_min(when, x->held);
    return when;
}

msec_t endpoint_when(const struct endpoint *ep, uint64_t running, msec_t now)
{
    struct rate r = rate_now(ep, now);
    msec_t rate = rate_lets(&r, ep->tat, now) ? now : ms_max(rate_when(&r, ep->tat), now + 1);
    msec_t units = quota_when(&ep->quota);

    if (ep->def.serial == 0 || !ep->usable || ep->def.paused || ep->def.tripped || ep->def.rate == 0)
        return MSEC_NEVER;
    rate = ms_max(rate, units > now || units == MSEC_NEVER ? units : now);
    if (pressure_closes(&ep->pressure, &ep->def, now))
        return now + PRESSURE_LOOK_MS;
    if (running >= slots(ep, now)) /* the ramp may give one more */
        return ramp_share(ep, now) < 1 && ep->def.max_concurrent > running ? now + 100 : MSEC_NEVER;
    if (ep->def.targets)
        return ms_max(rate, targets_when(ep, now));
    return ms_max(ms_max(rate, ep->held), breaker_when(&ep->breaker));
}

enum task_eta endpoint_eta(const struct endpoint *ep, uint64_t nth, msec_t now, int64_t *ms)
{
    msec_t at, when = ep->def.targets ? targets_free(ep, now) : ep->held;
    struct rate r;

    *ms = -1;
    if (ep->def.paused)
        return TASK_ETA_PAUSED;
    if (ep->def.tripped)
        return TASK_ETA_TRIPPED;
    if (ep->def.serial == 0 || endpoint_is_down(ep))
        return TASK_ETA_ENDPOINT;
    if (ep->def.rate == 0 || ep->quota.none)
        return TASK_ETA_RATE;
    r = rate_now(ep, now);
    if (when == MSEC_NEVER || pressure_closes(&ep->pressure, &ep->def, now))
        return TASK_ETA_CONCURRENCY;
    at = ms_max(ms_max(when, rate_nth(&r, ep->tat, nth, now)), quota_nth(&ep->quota, nth, 0, now));
    if (at <= now && ep->running >= slots(ep, now))
        return is_adaptive(ep) && ep->running < bound(ep) ? TASK_ETA_ADAPTIVE : TASK_ETA_CONCURRENCY;
    *ms = ms_max(at - now, 0);
    return TASK_ETA_RATE;
}

msec_t endpoint_over_quota(struct endpoint *ep, uint64_t nth, uint64_t cost, msec_t now)
{
    msec_t at = ep->def.targets ? targets_free(ep, now) : ep->held;
    struct rate r = rate_of(ep);

    if (ep->def.on_quota != ON_QUOTA_REJECT || ep->def.serial == 0 || ep->def.paused || endpoint_is_down(ep))
        return 0;
    at = at == MSEC_NEVER ? 0 : at; /* slots are no quota */
    at = ms_max(ms_max(at, rate_nth(&r, ep->tat, nth, now)), quota_nth(&ep->quota, nth, cost, now));
    if (ep->def.rate == 0 || ep->quota.none)
        at = ms_max(at, now + NO_SHARE_MS);
    if (at <= now)
        return 0;
    lacks(ep, now); /* its node wants more of them */
    return at - now;
}

/* Beyond the ramp, which is of those that follow each other. */
static bool has_share(const struct endpoint *ep, uint64_t running, msec_t now)
{
    struct rate r = rate_of(ep);

    return ep->def.rate != 0 && running < all_slots(ep, now) && rate_lets(&r, ep->tat, now) &&
           quota_most(&ep->quota, now) > 0;
}

bool endpoint_probes(struct endpoint *ep, uint64_t running, bool waits, msec_t now)
{
    struct hand_probe *h = &ep->hand;
    const struct endpoint *of = ep->of;

    if (h->state != PROBE_ASKED)
        return false;
    if (ep->def.serial == 0 || !ep->usable)
        h->state = PROBE_UNUSABLE;
    else if (!endpoint_is_down(ep))
        h->state = PROBE_NO_NEED;
    else if (ep->def.paused || (of != NULL && of->def.paused))
        h->state = PROBE_PAUSED;
    else if (!waits)
        h->state = PROBE_NO_TASK;
    else if (!has_share(ep, running, now) || (of != NULL && !has_share(of, of->running, now)))
        h->state = PROBE_LIMITED;
    return h->state == PROBE_ASKED;
}

void endpoint_leaves(struct endpoint *ep, uint64_t attempts, msec_t until)
{
    ep->left += attempts;
    if (attempts > 0)
        ep->left_until = ms_max(ep->left_until, until);
}

uint64_t endpoint_left(struct endpoint *ep, msec_t now)
{
    if (now >= ep->left_until)
        ep->left = 0;
    return ep->left;
}

/* ---- units --------------------------------------------------------------------------------- */

uint64_t endpoint_affords(const struct endpoint *at, msec_t now)
{
    uint64_t most = quota_most(&at->quota, now), there = 0;
    bool well = is_well_somewhere(at, now);

    if (at->of != NULL)
        return u64_min(most, quota_most(&at->of->quota, now));
    each_target (at, x)
        if (lets_target(x, well, now))
            there = u64_max(there, quota_most(&x->quota, now));
    return at->def.targets ? u64_min(most, there) : most;
}

void endpoint_waits(struct endpoint *at, uint64_t cost, msec_t now)
{
    struct endpoint *ep = at->of != NULL ? at->of : at;

    quota_waits(&ep->quota, cost, now);
    each_target (ep, x)
        quota_waits(&x->quota, cost, now);
}

void endpoint_pays(struct endpoint *at, uint64_t cost, msec_t now)
{
    struct endpoint *ep = at->of != NULL ? at->of : at;

    quota_pays(&ep->quota, cost, now);
    ep->n.units += cost;
    if (at != ep) {
        quota_pays(&at->quota, cost, now);
        at->n.units += cost;
    }
    endpoint_waits(ep, 0, now);
}

static void endpoint_owes(struct endpoint *at, uint64_t units, msec_t now)
{
    quota_owes(&at->quota, units, now);
    if (at->of != NULL)
        quota_owes(&at->of->quota, units, now);
}

void endpoint_returns(struct endpoint *at, uint64_t cost, msec_t now)
{
    quota_returns(&at->quota, cost, now);
    if (at->of != NULL)
        quota_returns(&at->of->quota, cost, now);
}

void endpoint_settles(struct endpoint *at, uint64_t was, uint64_t truth, msec_t now)
{
    if (truth < was)
        endpoint_returns(at, was - truth, now);
    else if (truth > was)
        endpoint_owes(at, truth - was, now);
}

static void settle_units(struct going_call *g, msec_t now)
{
    const struct verdict *v = &g->verdict;
    uint64_t truth = v->unsent || v->spared ? 0 : g->is_used && v->kind != VERDICT_PENDING ? g->used : g->cost;

    endpoint_settles(g->at, g->cost, truth, now);
    g->cost = truth;
}

/* Nothing was sent, so nothing is paid. */
static void give_back(struct going_call *g, msec_t now)
{
    endpoint_returns(g->at, g->cost, now);
    g->cost = 0;
}

/* ---- calls --------------------------------------------------------------------------------- */

static void hand_begins(struct endpoint *ep, struct going_call *g)
{
    g->by_hand = true;
    ep->hand.state = PROBE_SENT;
    ep->hand.call = g->id;
}

/* False: another one was ordered since, or it is none. */
static bool is_hand(const struct going_call *g)
{
    return g->by_hand && g->at->hand.state == PROBE_SENT && g->at->hand.call == g->id;
}

struct going_call *calls_begin(struct calls *c, struct endpoint *at, uint32_t attempt, msec_t now)
{
    struct endpoint *ep = at->of != NULL ? at->of : at;
    struct rate r = rate_now(ep, now);
    struct going_call *g = calloc(1, sizeof(*g));

    if (g == NULL || map_set_ptr(&c->by_id, c->last_id + 1, g) < 0) {
        free(g);
        return NULL;
    }
    *g = (struct going_call){ .endpoint = ep, .at = at, .id = ++c->last_id, .attempt = attempt };
    buf_init(&g->result);
    list_init(&g->followers);
    if (at->hand.state == PROBE_ASKED)
        hand_begins(at, g);
    else
        g->probe = breaker_begins(&at->breaker);
    ep->tat = rate_pass(&r, ep->tat, now);
    if (attempt <= 1)
        budget_first(&ep->budget, now);
    ep->in_flight++;
    at->in_flight += at != ep;
    list_push_back(&c->going, &g->in);
    return g;
}

struct going_call *calls_at(const struct calls *c, uint64_t id)
{
    return map_get_ptr(&c->by_id, id);
}

static uint64_t key_of(part_no part, task_no no)
{
    return no ^ (uint64_t)part << 40;
}

void calls_name(struct calls *c, struct going_call *g)
{
    (void)!map_set_ptr(&c->by_task, key_of(g->part, g->no), g);
}

struct going_call *calls_of_task(const struct calls *c, part_no part, task_no no)
{
    struct going_call *g = map_get_ptr(&c->by_task, key_of(part, no));

    return g != NULL && g->part == part && g->no == no ? g : NULL;
}

static void count(struct endpoint_counts *n, const struct call_answer *a, const struct verdict *v)
{
    n->succeeded += v->kind == VERDICT_DONE;
    n->failed += v->failed;
    n->ms += a->ms;
    n->of_class[v->class]++;
    n->of_fault[a->fault] += a->fault != CALL_NONE;
}

static void say_well(const struct endpoint *ep)
{
    if (ep->of == NULL)
        log_info("event=endpoint_well endpoint=%s", ep->name);
    else if (ep->def.serial != 0)
        log_info("event=target_well endpoint=%s url=%s", ep->of->name, log_q(ep->def.url, strlen(ep->def.url)));
}

static void say_down(const struct endpoint *ep)
{
    if (ep->of == NULL)
        log_warn("event=endpoint_down endpoint=%s open_ms=%" PRId64, ep->name, ep->breaker.last_ms);
    else if (ep->def.serial != 0)
        log_warn("event=target_down endpoint=%s url=%s open_ms=%" PRId64, ep->of->name,
                 log_q(ep->def.url, strlen(ep->def.url)), ep->breaker.last_ms);
}

static void tell_breaker(struct endpoint *ep, bool probe, enum breaker_end how, msec_t now)
{
    struct breaker_rules r = { ep->def.breaker_ratio, ep->def.breaker_min,
                               ep->def.breaker_open_ms };
    bool was_down = endpoint_is_down(ep);

    breaker_ends(&ep->breaker, &r, probe, how, now);
    if (was_down && !endpoint_is_down(ep)) {
        ep->ramp = now;
        say_well(ep);
    } else if (!was_down && endpoint_is_down(ep)) {
        say_down(ep);
    }
}

/* Only what the target said, or did not, of how much it bears. */
static void tell_adaptive(struct endpoint *ep, const struct call_answer *a, const struct verdict *v,
                          msec_t now)
{
    struct adaptive_rules r = adaptive_rules(ep);
    bool too_much = a->fault == CALL_TIMEOUT || a->fault == CALL_CONNECT || a->status == 429 ||
                    a->status == 503;

    if (!is_adaptive(ep))
        return;
    if (too_much)
        adaptive_too_much(&ep->adaptive, &r, now);
    else if (a->fault == CALL_NONE && !v->failed && v->kind != VERDICT_PENDING)
        adaptive_well(&ep->adaptive, &r, a->ms, ep->in_flight, now);
}

static void tell_hand(struct going_call *g, bool well, uint64_t ms)
{
    struct endpoint *ep = g->at;

    if (well && !ep->def.tripped)
        breaker_heard_well(&ep->breaker);
    if (!is_hand(g))
        return;
    ep->hand.state = PROBE_ANSWERED;
    ep->hand.ms = ms;
    copy_text(ep->hand.said, sizeof(ep->hand.said), g->why);
}

bool call_may_pass(const struct call_answer *a, int64_t wall_ms)
{
    enum verdict_kind kind = verdict_of(a, wall_ms).kind;

    return (kind == VERDICT_DONE || kind == VERDICT_DEAD) && a->status >= 200 && a->status < 600 &&
           a->status / 100 != 3 && a->status != 204 && a->status != 205;
}

/* A target told an answer of no known length for as long as it was let: a stream without an end, say.
 * The breaker asks whether a target is well, and one that says a good head and goes on talking is; how
 * long it may talk is the deadline's affair. A target that does not keep up with the length that it has
 * said itself is slow. */
static bool was_telling(const struct going_call *g, const struct call_answer *a)
{
    return a->fault == CALL_TIMEOUT && g->passed && !a->sized && g->reader.window.told > 0;
}

/* The target waited for its reader, or for the reader's link. */
static bool was_kept_waiting(const struct going_call *g, const struct call_answer *a)
{
    return a->fault == CALL_TIMEOUT && (g->held != NULL || (g->reader.peer != 0 && g->reader.waited_for));
}

/* Another attempt would begin anew what the reader has a part of. */
static void interrupts(struct going_call *g)
{
    g->verdict.kind = VERDICT_DEAD;
    g->verdict.spared = false;
}

static void set_why(struct going_call *g, const struct call_answer *a)
{
    if (g->passed && a->fault != CALL_NONE)
        snprintf(g->why, sizeof(g->why), "%" PRIu64 " bytes were passed on: %s: %s", g->reader.window.told,
                 call_fault_word(a->fault), a->why);
    else if (a->fault != CALL_NONE)
        snprintf(g->why, sizeof(g->why), "%s: %s", call_fault_word(a->fault), a->why);
    else
        copy_text(g->why, sizeof(g->why), call_class_word(g->verdict.class));
}

/* Another target that is well takes what this one could not be sent: at once, and in its place in line.
 * A delay that this one wants does not hold there. */
static void turn_elsewhere(struct going_call *g, msec_t now)
{
    struct verdict *v = &g->verdict;

    if (g->at->of == NULL || v->kind != VERDICT_RETRY)
        return;
    if (v->unsent)
        g->at->aside = now + ASIDE_MS;
    if (!is_well_somewhere(g->endpoint, now))
        return;
    v->elsewhere = v->unsent && !g->by_hand && !g->passed;
    v->least_ms = 0;
}

void calls_hear(struct going_call *g, const struct call_answer *a, const void *p, size_t n)
{
    const struct msg_endpoint *d = &g->endpoint->def;

    if (a->length == 0) /* nobody knows the rule of one that has gone meanwhile */
        usage_begin(&g->usage, d->serial != 0 ? d->used : "", a->type);
    usage_more(&g->usage, p, n);
}

/* The body says it, or else the head. A call that was refused (429) took nothing, whatever that says. */
static void learn_used(struct going_call *g, const struct call_answer *a)
{
    uint64_t most = g->endpoint->def.used_most;

    if (a->fault != CALL_NONE || g->verdict.spared)
        return;
    g->is_used = (!a->goes_on && usage_end(&g->usage, &g->used)) || cost_number(a->used, strlen(a->used), &g->used);
    g->used = u64_min(g->used, most != 0 ? most : TASK_COST_MAX);
}

void calls_answered(struct going_call *g, const struct call_answer *a, msec_t now, int64_t wall_ms)
{
    struct endpoint *ep = g->at;
    struct verdict *v = &g->verdict;

    assert(g->step == CALL_SENT);
    g->step = CALL_ENDED;
    *v = verdict_of(a, wall_ms);
    if (g->passed && v->kind == VERDICT_RETRY)
        interrupts(g);
    if (was_kept_waiting(g, a) || was_telling(g, a))
        v->failed = false;
    set_why(g, a);
    learn_used(g, a);
    v->status = (uint32_t)a->status;
    v->excused = v->kind == VERDICT_RETRY && (g->probe || g->by_hand);
    settle_units(g, now);
    count(&g->endpoint->n, a, v);
    if (ep != g->endpoint)
        count(&ep->n, a, v);
    if (g->by_hand)
        tell_hand(g, !v->failed && !call_fault_is_ours(a->fault), a->ms);
    else
        tell_breaker(ep, g->probe,
                     call_fault_is_ours(a->fault) ? END_UNKNOWN : v->failed ? END_FAILED : END_WELL, now);
    v->excused |= v->kind == VERDICT_RETRY &&
                  (ep->breaker.state == BREAKER_OPEN || ep->def.tripped);
    if (!g->reader.slow && !was_telling(g, a))
        tell_adaptive(ep, a, v, now);
    g->probe = false;
    if (v->hold_ms > 0)
        ep->held = ms_max(ep->held, now + v->hold_ms);
    turn_elsewhere(g, now);
    if (v->kind == VERDICT_RETRY && !v->elsewhere)
        v->least_ms = ms_max(v->least_ms, budget_retry(&g->endpoint->budget, now));
}

void calls_refuse(struct going_call *g)
{
    assert(g->step == CALL_TAKEN);
    tell_breaker(g->at, g->probe, END_UNKNOWN, 0);
    g->step = CALL_ENDED;
    g->probe = false;
    g->verdict = (struct verdict){ .kind = VERDICT_DEAD, .class = CLASS_NO_CALL };
    copy_text(g->why, sizeof(g->why), call_class_word(CLASS_NO_CALL));
    g->endpoint->n.of_class[CLASS_NO_CALL]++;
    if (g->by_hand)
        tell_hand(g, false, 0);
}

void calls_end(struct calls *c, struct going_call *g, msec_t now)
{
    struct endpoint *ep = g->at;

    assert(ep->in_flight > 0 && g->sending == NULL && g->whole == NULL);
    if (g->step != CALL_ENDED && !g->by_hand)
        tell_breaker(ep, g->probe, END_UNKNOWN, now);
    if (g->step == CALL_TAKEN || (g->step == CALL_ENDED && g->verdict.class == CLASS_NO_CALL))
        give_back(g, now);
    if (is_hand(g))
        ep->hand.state = PROBE_LOST;
    ep->in_flight--;
    g->endpoint->in_flight -= g->endpoint != ep;
    list_remove(&c->going, &g->in);
    if (g->held != NULL)
        list_remove(g->held, &g->in_held);
    if (list_linked(&g->in_early))
        list_remove(&c->early, &g->in_early);
    if (list_linked(&g->in_eased))
        list_remove(&c->eased, &g->in_eased);
    if (list_linked(&g->in_joined))
        list_remove(&c->joined, &g->in_joined);
    list_each (&g->followers, f) /* links are down, or the process ends */
        list_remove(&g->followers, f);
    (void)map_del(&c->by_id, g->id);
    if (map_get_ptr(&c->by_task, key_of(g->part, g->no)) == g)
        (void)map_del(&c->by_task, key_of(g->part, g->no));
    buf_fini(&g->result);
    free(g);
}
