/* pace.c: spends the poll budget on the front of the line.
 *
 * load(us_per_place) falls when us_per_place grows, so the plan is a search by halves:
 * first the steepness, then, since it is a whole number, max_ms closes the small gap that
 * is left below the budget. When even max_ms for everybody is too much, max_ms is
 * stretched so that a flat tail takes four fifths of the budget and the ramp the rest:
 * the front goes on polling often however long the line is. */
#include "common/pace.h"

#include <math.h>

#define FLAT_SHARE   0.8
#define MAX_STRETCH  ((uint32_t)1 << 31) /* ms; 24 days: nobody waits that long */

/* 1/(a+1) + ... + 1/b */
static double harmonic_between(double a, double b)
{
    double sum = 0;

    while (a < b && a < 32) /* the formula below is exact to 1e-9 from here */
        sum += 1 / ++a;
    if (a >= b)
        return sum;
    return sum + log(b / a) + (1 / b - 1 / a) / 2 - (1 / (b * b) - 1 / (a * a)) / 12;
}

double pace_load(const struct pace *p, uint64_t waiting)
{
    double n = (double)waiting, us = (double)p->us_per_place;
    double lo, hi;

    if (us == 0)
        return n * 1000 / p->min_ms;
    lo = floor((double)p->min_ms * 1000 / us); /* places up to lo are at the minimum */
    hi = floor((double)p->max_ms * 1000 / us); /* those above hi at the maximum */
    lo = lo < n ? lo : n;
    hi = hi < n ? hi : n;
    return lo * 1000 / p->min_ms + 1e6 / us * harmonic_between(lo, hi) +
           (n - hi) * 1000 / p->max_ms;
}

/* Smallest us_per_place in 0 .. UINT32_MAX whose load is within the budget (or the end). */
static uint32_t find_slope(struct pace p, uint64_t waiting, double budget)
{
    uint64_t lo = 0, hi = u64_min((uint64_t)p.max_ms * 1000, UINT32_MAX);

    while (lo < hi) {
        uint64_t mid = (lo + hi) / 2;

        p.us_per_place = (uint32_t)mid;
        if (pace_load(&p, waiting) <= budget)
            hi = mid;
        else
            lo = mid + 1;
    }
    return (uint32_t)lo;
}

/* Smallest maximum, not below min_ms, that is within the budget at this slope. */
static uint32_t find_max(struct pace p, uint64_t waiting, double budget)
{
    uint32_t lo = p.min_ms, hi = p.max_ms;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        p.max_ms = mid;
        if (pace_load(&p, waiting) <= budget)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

struct pace pace_plan(uint64_t waiting, uint32_t budget_per_s, uint32_t min_ms,
                      uint32_t max_ms)
{
    struct pace p = { .min_ms = min_ms != 0 ? min_ms : 1, .max_ms = max_ms };
    double budget = budget_per_s != 0 ? budget_per_s : 1;
    double flat_ms = (double)waiting * 1000 / budget; /* if all waited equally long */

    if (p.max_ms < p.min_ms)
        p.max_ms = p.min_ms;
    if ((double)waiting * 1000 / p.min_ms <= budget)
        return p; /* everybody may poll as often as is ever useful */
    if (flat_ms > p.max_ms)
        p.max_ms = (uint32_t)fmin(ceil(flat_ms / FLAT_SHARE), MAX_STRETCH);
    p.us_per_place = find_slope(p, waiting, budget);
    p.max_ms = find_max(p, waiting, budget);
    return p;
}

uint32_t pace_interval_ms(const struct pace *p, uint64_t position)
{
    uint64_t us;

    if (__builtin_mul_overflow(position, p->us_per_place, &us) || us >= UINT64_MAX - 500)
        return p->max_ms;
    return (uint32_t)u64_max(p->min_ms, u64_min((us + 500) / 1000, p->max_ms));
}

uint32_t pace_jittered_ms(const struct pace *p, uint64_t position, uint32_t salt)
{
    uint64_t ms = pace_interval_ms(p, position);
    uint64_t spread = ms / 10;

    salt = (salt ^ salt >> 16) * 0x7feb352du; /* neighbours' salts are neighbours, too */
    salt = (salt ^ salt >> 15) * 0x846ca68bu;
    salt ^= salt >> 16;
    ms += ((uint64_t)salt * (2 * spread + 1) >> 32) - spread; /* 0 .. 2*spread, centred */
    return (uint32_t)u64_min(ms, UINT32_MAX);
}
