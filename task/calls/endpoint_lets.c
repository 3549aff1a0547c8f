/* endpoint_lets.c: conditions in the order in which their answers cost less. */
#include "task/calls/endpoint_lets.h"

#include <math.h>
#include <string.h>

#define NO_SHARE_MS 1000 /* shares are divided each second */
#define LACKED_MS   1000
#define SLOTS_ANY   1000 /* where the definition has no bound: descriptors have one */

/* Slots, without adaptive limit, readings and ramp. */
static uint64_t endpoint_bound(const struct endpoint *ep)
{
    return ep->def.max_concurrent == ENDPOINT_ANY ? SLOTS_ANY : ep->def.max_concurrent;
}

bool endpoint_is_adaptive(const struct endpoint *ep)
{
    return ep->def.adaptive_min > 0 && ep->def.max_concurrent > 0;
}

struct adaptive_rules endpoint_adaptive_rules(const struct endpoint *ep)
{
    uint64_t most = endpoint_bound(ep);

    return (struct adaptive_rules){ u64_min(ep->def.adaptive_min, most), most };
}

uint64_t endpoint_adaptive(const struct endpoint *ep)
{
    struct adaptive_rules r = endpoint_adaptive_rules(ep);

    return endpoint_is_adaptive(ep) ? adaptive_limit(&ep->adaptive, &r) : 0;
}

bool endpoint_lacks_share(const struct endpoint *ep, msec_t now)
{
    uint64_t most = endpoint_is_adaptive(ep) ? endpoint_adaptive(ep) : endpoint_bound(ep);

    return !endpoint_is_down(ep) && now >= ep->held && !told_is_out(&ep->told, now) &&
           !pressure_closes(&ep->pressure, &ep->def, now) &&
           (most == endpoint_bound(ep) || ep->running < most);
}

bool endpoint_is_down(const struct endpoint *ep)
{
    if (!ep->def.targets)
        return ep->breaker.state != BREAKER_CLOSED || ep->def.tripped || !ep->usable;
    each_target_of (ep, x)
        if (x->def.serial != 0 && !x->def.paused && !endpoint_is_down(x))
            return ep->def.tripped;
    return true;
}

bool endpoint_would_try(const struct endpoint *ep, msec_t now)
{
    if (!ep->def.targets)
        return ep->def.serial != 0 && ep->usable && !ep->def.paused && breaker_would_let(&ep->breaker, now);
    each_target_of (ep, x)
        if (endpoint_would_try(x, now))
            return true;
    return false;
}

const char *endpoint_unusable(const struct endpoint *ep)
{
    const char *why = "";

    if (!ep->def.targets)
        return ep->unusable;
    each_target_of (ep, x) {
        if (x->def.serial != 0 && x->unusable[0] == 0)
            return "";
        why = x->def.serial != 0 ? x->unusable : why;
    }
    return why;
}

uint64_t endpoint_room(const struct endpoint *ep, msec_t now)
{
    uint64_t most = quota_most(&ep->quota, now);

    return ep->def.serial == 0 ? most : u64_min(most, told_most(&ep->told, ep->def.told, ep->def.unit_part, now));
}

/* By what its answers said is left: when the nth call from now may begin; 0: at once. */
static msec_t told_nth(const struct endpoint *ep, uint64_t nth, uint64_t cost, msec_t now)
{
    return ep->def.serial == 0 ? 0 : told_when(&ep->told, ep->def.told, ep->def.unit_part, nth, cost, now);
}

/* Beyond the ramp. */
static uint64_t all_slots(const struct endpoint *ep, msec_t now)
{
    uint64_t most = endpoint_is_adaptive(ep) ? endpoint_adaptive(ep) : endpoint_bound(ep);

    return pressure_slots(&ep->pressure, &ep->def, most, now);
}

uint64_t endpoint_slots_now(const struct endpoint *ep, msec_t now)
{
    double share = endpoint_ramp(ep, now);
    uint64_t most = all_slots(ep, now);

    return most == 0 || share >= 1 ? most : u64_max((uint64_t)((double)most * share), 1);
}

static bool is_open(const struct endpoint *ep, uint64_t running, msec_t now)
{
    return ep->def.serial != 0 && ep->usable && !ep->def.paused && !ep->def.tripped &&
           ep->def.rate != 0 && !pressure_closes(&ep->pressure, &ep->def, now) &&
           running < endpoint_slots_now(ep, now);
}

/* Is one of its targets well, perhaps with all slots in use? */
bool endpoint_is_well_somewhere(const struct endpoint *ep, msec_t now)
{
    each_target_of (ep, x)
        if (x->def.serial != 0 && !x->def.paused && !endpoint_is_down(x) && now >= x->held &&
            now >= x->aside)
            return true;
    return false;
}

bool endpoint_lets_target(struct endpoint *x, bool well, msec_t now)
{
    return (!well || now >= x->aside) && endpoint_lets(x, x->running, now);
}

static bool lets_somewhere(struct endpoint *ep, msec_t now)
{
    bool well = endpoint_is_well_somewhere(ep, now);

    each_target_of (ep, x)
        if (endpoint_lets_target(x, well, now))
            return true;
    return false;
}

bool endpoint_lets(struct endpoint *ep, uint64_t running, msec_t now)
{
    struct rate r = endpoint_rate_now(ep, now);

    if (!is_open(ep, running, now) || !rate_lets(&r, ep->tat, now) || endpoint_room(ep, now) == 0)
        return false;
    if (ep->def.targets)
        return lets_somewhere(ep, now);
    return now >= ep->held && breaker_lets(&ep->breaker, now);
}

void endpoint_lacks(struct endpoint *ep, msec_t now)
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

/* When one of its targets may take a call by itself. */
static msec_t targets_when(const struct endpoint *ep, msec_t now)
{
    msec_t when = MSEC_NEVER, one;

    each_target_of (ep, x) {
        one = endpoint_when(x, x->running, now);
        when = ms_min(when, one == MSEC_NEVER || now >= x->aside ? one : ms_max(one, x->aside));
    }
    return when;
}

/* From when one that is well has a slot free; MSEC_NEVER: when a call ends. */
static msec_t targets_free(const struct endpoint *ep, msec_t now)
{
    msec_t when = MSEC_NEVER;

    each_target_of (ep, x)
        if (x->def.serial != 0 && !x->def.paused && !endpoint_is_down(x) &&
            !pressure_closes(&x->pressure, &x->def, now) && x->running < endpoint_slots_now(x, now))
            when = ms_min(when, ms_max(x->held, told_nth(x, 1, 0, now)));
    return when;
}

msec_t endpoint_when(const struct endpoint *ep, uint64_t running, msec_t now)
{
    struct rate r = endpoint_rate_now(ep, now);
    msec_t rate = rate_lets(&r, ep->tat, now) ? now : ms_max(rate_when(&r, ep->tat), now + 1);
    msec_t units = quota_when(&ep->quota, now);

    if (ep->def.serial == 0 || !ep->usable || ep->def.paused || ep->def.tripped || ep->def.rate == 0)
        return MSEC_NEVER;
    rate = ms_max(rate, units > now || units == MSEC_NEVER ? units : now);
    rate = ms_max(rate, told_nth(ep, 1, ep->quota.needs, now));
    if (pressure_closes(&ep->pressure, &ep->def, now))
        return now + PRESSURE_LOOK_MS;
    if (running >= endpoint_slots_now(ep, now)) /* the ramp may give one more */
        return endpoint_ramp(ep, now) < 1 && ep->def.max_concurrent > running ? now + 100 : MSEC_NEVER;
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
    r = endpoint_rate_now(ep, now);
    if (when == MSEC_NEVER || pressure_closes(&ep->pressure, &ep->def, now))
        return TASK_ETA_CONCURRENCY;
    at = ms_max(ms_max(when, rate_nth(&r, ep->tat, nth, now)), quota_nth(&ep->quota, nth, 0, now));
    at = ms_max(at, told_nth(ep, nth, 0, now));
    if (at <= now && ep->running >= endpoint_slots_now(ep, now))
        return endpoint_is_adaptive(ep) && ep->running < endpoint_bound(ep) ? TASK_ETA_ADAPTIVE
                                                                            : TASK_ETA_CONCURRENCY;
    *ms = ms_max(at - now, 0);
    return TASK_ETA_RATE;
}

msec_t endpoint_window(const struct endpoint *ep, uint64_t nth, msec_t now, const char **whose)
{
    msec_t soonest = MSEC_NEVER, own;
    bool shared = false, other;

    each_target_of (ep, x)
        if (x->def.serial != 0 && !x->def.paused && !endpoint_is_down(x))
            soonest = ms_min(soonest, quota_window(&x->quota, nth, 0, now, &other));
    own = quota_window(&ep->quota, nth, 0, now, &shared);
    soonest = soonest == MSEC_NEVER ? 0 : soonest;
    *whose = shared && own >= soonest ? ep->def.budget : ep->name;
    return ms_max(own, soonest);
}

msec_t endpoint_over_quota(struct endpoint *ep, uint64_t nth, uint64_t cost, msec_t now)
{
    msec_t at = ep->def.targets ? targets_free(ep, now) : ep->held;
    struct rate r = endpoint_rate(ep);

    if (ep->def.on_quota != ON_QUOTA_REJECT || ep->def.serial == 0 || ep->def.paused ||
        endpoint_is_down(ep))
        return 0;
    at = at == MSEC_NEVER ? 0 : at; /* slots are no quota */
    at = ms_max(ms_max(at, rate_nth(&r, ep->tat, nth, now)), quota_nth(&ep->quota, nth, cost, now));
    at = ms_max(at, told_nth(ep, nth, cost, now));
    if (ep->def.rate == 0 || ep->quota.none)
        at = ms_max(at, now + NO_SHARE_MS);
    if (at <= now)
        return 0;
    endpoint_lacks(ep, now); /* node wants more of them */
    return at - now;
}

/* Beyond the ramp, which is of those that follow each other. */
static bool has_share(const struct endpoint *ep, uint64_t running, msec_t now)
{
    struct rate r = endpoint_rate(ep);

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
    uint64_t most = endpoint_room(at, now), there = 0;
    bool well = endpoint_is_well_somewhere(at, now);

    if (at->of != NULL)
        return u64_min(most, quota_most(&at->of->quota, now));
    each_target_of (at, x)
        if (endpoint_lets_target(x, well, now))
            there = u64_max(there, endpoint_room(x, now));
    return at->def.targets ? u64_min(most, there) : most;
}

void endpoint_waits(struct endpoint *at, uint64_t cost, msec_t now)
{
    struct endpoint *ep = at->of != NULL ? at->of : at;

    quota_waits(&ep->quota, cost, now);
    each_target_of (ep, x)
        quota_waits(&x->quota, cost, now);
}

void endpoint_pays(struct endpoint *at, uint64_t cost, msec_t now)
{
    struct endpoint *ep = at->of != NULL ? at->of : at;

    quota_pays(&ep->quota, cost, now);
    if (at->def.serial != 0)
        told_begins(&at->told, at->def.told, cost);
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

void endpoint_returns(struct endpoint *at, uint64_t cost, msec_t begun, msec_t now)
{
    quota_returns(&at->quota, cost, begun, now);
    if (at->of != NULL)
        quota_returns(&at->of->quota, cost, begun, now);
}

void endpoint_settles(struct endpoint *at, uint64_t was, uint64_t truth, msec_t begun, msec_t now)
{
    if (truth < was)
        endpoint_returns(at, was - truth, begun, now);
    else if (truth > was)
        endpoint_owes(at, truth - was, now);
}

/* ---- which target a call goes to: smooth weighted round robin, over scores ---------------- */

#define FREE_MOST 65536 /* slots: more are as good as that */
#define FINE      1024  /* parts of a score of 1 */

static int64_t score(const struct target_room *v)
{
    uint64_t s = (uint64_t)FINE * v->weight * u64_min(v->free, FREE_MOST) / (v->running + 1);

    return (int64_t)u64_max(s, 1);
}

size_t target_pick(struct target_room *v, size_t n)
{
    bool aside = true; /* all are */
    size_t best = TARGET_NONE;
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        aside &= v[i].free == 0 || v[i].aside;
    for (size_t i = 0; i < n; i++) {
        if (v[i].free == 0 || v[i].aside != aside)
            continue;
        sum += score(&v[i]);
        v[i].credit += score(&v[i]);
        if (best == TARGET_NONE || v[i].credit > v[best].credit)
            best = i;
    }
    if (best != TARGET_NONE)
        v[best].credit -= sum;
    for (size_t i = 0; i < n; i++) /* a claim from times when others could not does not last for ever */
        v[i].credit = v[i].credit > sum ? sum : v[i].credit < -sum ? -sum : v[i].credit;
    return best;
}

uint64_t endpoint_affinity(const struct endpoint *ep, const char *key1, const char *key2)
{
    uint64_t h = affinity_hash(key1, strlen(key1));

    if (ep->def.affinity == AFFINITY_NONE || key1[0] == 0)
        return 0;
    if (ep->def.affinity == AFFINITY_SUBKEY && key2[0] != 0)
        return h * 3 + affinity_hash(key2, strlen(key2));
    return h;
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
    bool well = endpoint_is_well_somewhere(ep, now);

    c->n = 0;
    each_target_of (ep, x) {
        bool lets = endpoint_lets_target(x, well, now) && endpoint_room(x, now) >= cost;
        uint64_t free = lets ? endpoint_slots_now(x, now) - x->running : 0;

        if (c->n == TARGET_NO_MAX)
            break;
        c->room[c->n] = (struct target_room){ free, x->running, x->def.weight, now < x->aside, x->credit };
        c->affine[c->n] =
            (struct affine){ x->url_hash, x->def.serial != 0 && !x->def.paused && !endpoint_is_down(x) };
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

static struct endpoint *by_affinity(const struct candidates *c, uint64_t key, uint32_t bound, msec_t now)
{
    struct affine_choice k = affinity_pick(c->room, c->affine, c->n, key, bound);
    struct endpoint *first = k.first != TARGET_NONE ? c->at[k.first] : NULL;

    if (k.at != TARGET_NONE && first != NULL) {
        first->n.affine += k.at == k.first;
        first->n.astray += k.at != k.first;
        if (k.at != k.first && first->running >= first->def.max_concurrent)
            endpoint_lacks(first, now);
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

/* ---- affinity ----------------------------------------------------------------------------- */

/* Targets are few: each is scored for each call. */

/* Spreads each bit over all (the finish of splitmix64; Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static double affinity_score(const struct target_room *v, const struct affine *a, uint64_t key)
{
    uint64_t bits = mix(key + mix(a->url + 0x9e3779b97f4a7c15)) >> 11;

    return -(double)v->weight / log(((double)bits + 0.5) * 0x1p-53);
}

struct whole {
    uint64_t running, weight;
    bool aside; /* none but those that are aside have a slot free */
};

static struct whole of_all(const struct target_room *v, size_t n)
{
    struct whole w = { .aside = true };

    for (size_t i = 0; i < n; i++)
        w.aside &= v[i].free == 0 || v[i].aside;
    for (size_t i = 0; i < n; i++)
        if (v[i].free > 0 && v[i].aside == w.aside) {
            w.running += v[i].running;
            w.weight += v[i].weight;
        }
    return w;
}

/* With one more it has no more than the bound, which is rounded up. */
static bool within(const struct target_room *v, const struct whole *w, uint32_t bound)
{
    double most = (double)bound / AFFINITY_PERCENT * (double)(w->running + 1) * v->weight / (double)w->weight;

    return (double)v->running + 1 <= ceil(most - 1e-9);
}

struct affine_choice affinity_pick(const struct target_room *v, const struct affine *at, size_t n,
                                   uint64_t key, uint32_t bound)
{
    struct affine_choice c = { TARGET_NONE, TARGET_NONE };
    struct whole w = of_all(v, n);
    double best = 0, first = 0;

    for (size_t i = 0; i < n; i++) {
        double s = affinity_score(&v[i], &at[i], key);

        if (at[i].there && (c.first == TARGET_NONE || s > first)) {
            c.first = i;
            first = s;
        }
        if (v[i].free > 0 && v[i].aside == w.aside && within(&v[i], &w, bound) &&
            (c.at == TARGET_NONE || s > best)) {
            c.at = i;
            best = s;
        }
    }
    return c;
}
