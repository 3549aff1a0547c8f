/* target_pick.c: the smooth weighted round robin, over scores. */
#include "task/calls/target_pick.h"

#include <math.h>
#include <string.h>

#include "task/calls/endpoint_lets.h"

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
