/* affinity.c: targets are few: each is scored for each call. */
#include "task/calls/affinity.h"

#include <math.h>

uint64_t affinity_hash(const char *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325; /* FNV-1a; mix() spreads its bits */

    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)p[i]) * 0x100000001b3;
    return h != 0 ? h : 1;
}

/* Spreads each bit over all (the finish of splitmix64; Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static double score(const struct target_room *v, const struct affine *a, uint64_t key)
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
        double s = score(&v[i], &at[i], key);

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
