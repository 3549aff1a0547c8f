/* pace.c: spends the poll budget on the front of the line.
 *
 * load(us_per_place) falls when us_per_place grows, so the plan is a search by halves:
 * first the steepness, then, since it is a whole number, max_ms closes the small gap that
 * is left below the budget. When even max_ms for everybody is too much, max_ms is
 * stretched so that a flat tail takes four fifths of the budget and the ramp the rest:
 * the front goes on polling often however long the line is. While people are released the
 * ramp may take more, up to seven tenths, and the tail waits longer for it. */
#include "common/ticket/pace.h"

#include <assert.h>
#include <math.h>

const uint32_t pace_class_top[8] = { 2147483648, 2341847523, 2553802833, 2784941737,
                                     3037000499, 3311872529, 3611622602, 3938502375 };

#define FLAT_SHARE   0.8
#define FLAT_LEAST   0.3 /* while people are released */
#define LONGEST      1.5 /* longest interval, by jitter */
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

/* A line that moves is polled less than one that stands: who is told the share c of its
 * time to the front is next seen at (1 - c) of its place, so it has -1/ln(1 - c) polls
 * for each e-fold of places, not 1/c. */
static double moving(double us_per_place, double release_per_s)
{
    double c = fmin(us_per_place * 1e-6 * release_per_s, 0.95);

    return c > 0.001 ? c / -log1p(-c) : 1;
}

double pace_load(const struct pace *p, uint64_t waiting, double release_per_s)
{
    double n = (double)waiting, us = (double)p->us_per_place;
    double lo, hi;

    if (us == 0)
        return n * 1000 / p->min_ms;
    lo = floor((double)p->min_ms * 1000 / us); /* places up to lo are at the minimum */
    hi = floor((double)p->max_ms * 1000 / us); /* intervals above hi are at the maximum */
    lo = lo < n ? lo : n;
    hi = hi < n ? hi : n;
    return lo * 1000 / p->min_ms +
           moving(us, release_per_s) * 1e6 / us * harmonic_between(lo, hi) +
           (n - hi) * 1000 / p->max_ms;
}

struct line { /* the line that a plan is for */
    uint64_t waiting;
    double release_per_s, budget;
};

static bool is_within(const struct pace *p, const struct line *l)
{
    return pace_load(p, l->waiting, l->release_per_s) <= l->budget;
}

/* Smallest us_per_place in 0 .. UINT32_MAX whose load is within the budget (or the end). */
static uint32_t find_slope(struct pace p, const struct line *l)
{
    uint64_t lo = 0, hi = u64_min((uint64_t)p.max_ms * 1000, UINT32_MAX);

    while (lo < hi) {
        uint64_t mid = (lo + hi) / 2;

        p.us_per_place = (uint32_t)mid;
        if (is_within(&p, l))
            hi = mid;
        else
            lo = mid + 1;
    }
    return (uint32_t)lo;
}

/* Smallest maximum, not below min_ms, that is within the budget at this slope. */
static uint32_t find_max(struct pace p, const struct line *l)
{
    uint32_t lo = p.min_ms, hi = p.max_ms;

    assert(lo <= hi);
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        p.max_ms = mid;
        if (is_within(&p, l))
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* In hundredths: short intervals stay regular, long ones are spread: see pace.h. */
static uint64_t jitter(uint64_t ms)
{
    return ms <= 2000 ? 10 : ms >= 10000 ? 50 : 10 + (ms - 2000) / 200;
}

uint32_t pace_longest_ms(const struct pace *p)
{
    return (uint32_t)u64_min(p->max_ms + p->max_ms * jitter(p->max_ms) / 100, UINT32_MAX);
}

/* The longest interval of which no jittered one is above bound_ms; not below min_ms. */
static uint32_t meant_for(uint32_t bound_ms, uint32_t min_ms)
{
    struct pace p = { .max_ms = bound_ms };

    for (uint32_t step = bound_ms / 2; step > 0; step /= 2)
        if (pace_longest_ms(&p) > bound_ms)
            p.max_ms -= step < p.max_ms ? step : p.max_ms;
        else
            p.max_ms += step;
    while (p.max_ms > min_ms && pace_longest_ms(&p) > bound_ms)
        p.max_ms--;
    return p.max_ms > min_ms ? p.max_ms : min_ms;
}

/* The max_ms with which a flat tail takes `share` of the budget. */
static uint32_t tail_ms(const struct line *l, double share)
{
    return (uint32_t)fmin(ceil((double)l->waiting * 1000 / l->budget / share),
                          MAX_STRETCH);
}

struct pace pace_plan(uint64_t waiting, double release_per_s, uint32_t budget_per_s,
                      uint32_t min_ms, uint32_t max_ms)
{
    struct pace p = { .min_ms = min_ms != 0 ? min_ms : 1 };
    struct line l = { waiting, release_per_s, budget_per_s != 0 ? budget_per_s : 1 };
    double steepest = release_per_s > 0 ? 1e6 / (release_per_s * LONGEST) : UINT32_MAX;

    p.max_ms = meant_for(max_ms, p.min_ms);
    if ((double)waiting * 1000 / p.min_ms <= l.budget)
        return p; /* everybody may poll as often as is ever useful */
    if (tail_ms(&l, 1) > p.max_ms)
        p.max_ms = tail_ms(&l, FLAT_SHARE);
    p.us_per_place = find_slope(p, &l);
    if (p.us_per_place > steepest) {
        p.max_ms = (uint32_t)u64_max(p.max_ms, tail_ms(&l, FLAT_LEAST));
        p.us_per_place = (uint32_t)fmax(find_slope(p, &l), ceil(steepest));
    }
    p.max_ms = find_max(p, &l);
    assert(p.min_ms >= 1 && p.max_ms >= p.min_ms);
    return p;
}

uint32_t pace_interval_ms(const struct pace *p, uint64_t position)
{
    uint64_t us;

    if (__builtin_mul_overflow(position, p->us_per_place, &us) || us >= UINT64_MAX - 500)
        return p->max_ms;
    return (uint32_t)u64_max(p->min_ms, u64_min((us + 500) / 1000, p->max_ms));
}

/* From 0 to n - 1; neighbours' salts are neighbours, too. */
static uint64_t spread_below(uint32_t salt, uint64_t n)
{
    salt = (salt ^ salt >> 16) * 0x7feb352du;
    salt = (salt ^ salt >> 15) * 0x846ca68bu;
    salt ^= salt >> 16;
    return salt * n >> 32;
}

uint32_t pace_jittered_ms(const struct pace *p, uint64_t position, uint32_t salt)
{
    uint64_t ms = pace_interval_ms(p, position);
    uint64_t spread = ms * jitter(ms) / 100;

    ms += spread_below(salt, 2 * spread + 1) - spread; /* centred */
    return (uint32_t)u64_min(ms, UINT32_MAX);
}

/* ---- refusals ---- */

uint32_t put_off_s(struct put_off *p, msec_t now_ms, uint32_t salt)
{
    uint64_t over_s = u64_max(p->over_s, 1), passed_ms = (uint64_t)(now_ms - p->begin_ms);

    if (passed_ms >= 1000) { /* each of them comes back after half of 1 + over_s, on average */
        uint64_t twice = p->n * 1000ull / passed_ms * (1 + over_s);

        over_s = u64_min(u64_max(twice / PUT_OFF_PER_S, 2) - 1, PUT_OFF_MOST_S);
        *p = (struct put_off){ .begin_ms = now_ms, .over_s = (uint32_t)over_s };
    }
    p->n++;
    return 1 + (uint32_t)spread_below(salt, over_s);
}

/* ---- from a place to seconds ---- */

double eta_seconds(double per_s, double leave, uint64_t position)
{
    double p = (double)position;

    assert(leave >= 0);
    if (!(per_s > 0))
        return -1;
    if (!(leave * p > 1e-6 * per_s)) /* hardly anybody gives up */
        return p / per_s;
    return log1p(leave * p / per_s) / leave;
}

uint64_t eta_within(double per_s, double leave, double seconds)
{
    double p;

    assert(leave >= 0 && seconds >= 0);
    if (!(per_s > 0))
        return 0;
    p = leave * seconds > 1e-6 ? per_s * expm1(leave * seconds) / leave : per_s * seconds;
    return p < 1e15 ? (uint64_t)p : (uint64_t)1e15;
}

int64_t eta_whole_s(double per_s, double leave, uint64_t position)
{
    double eta = eta_seconds(per_s, leave, position);
    int64_t s;

    if (eta < 0 || eta > (double)INT32_MAX)
        return -1;
    eta -= 1e-6; /* 62.0000001 are 62 */
    s = (int64_t)eta;
    return s + ((double)s < eta);
}

const char *eta_reason_name(unsigned reason)
{
    static const char *const names[ETA_NREASONS] = {
        [ETA_SLOWER] = "slower",
        [ETA_FASTER] = "faster",
        [ETA_PAUSED] = "paused",
        [ETA_STOPPED] = "stopped",
        [ETA_STAY] = "stay",
    };

    return reason < ETA_NREASONS ? names[reason] : NULL;
}
