/* adaptive.c: see the header. */
#include "task/calls/adaptive.h"

#define WINDOW     10   /* answers */
#define TOLERANCE  1.5  /* times as long is no queue yet */
#define SMOOTHING  0.2
#define QUEUE      4    /* calls that may wait at the target */
#define LONG_OF    600  /* windows' worth of memory of the long run, in answers */
#define CUT        0.9
#define FORGET     0.95 /* part of the long run, where it is more than twice what is seen */

static double within(double v, const struct adaptive_rules *r)
{
    return v < (double)r->min ? (double)r->min : v > (double)r->max ? (double)r->max : v;
}

uint64_t adaptive_limit(const struct adaptive *a, const struct adaptive_rules *r)
{
    return (uint64_t)within(a->limit, r);
}

/* The window is over: short_ms is its mean. */
static void learn(struct adaptive *a, const struct adaptive_rules *r, double short_ms, bool binds)
{
    double weight = 2.0 * WINDOW / (LONG_OF + 1), gradient, next;

    a->long_ms = a->long_ms == 0 ? short_ms : a->long_ms * (1 - weight) + short_ms * weight;
    if (a->long_ms > 2 * short_ms)
        a->long_ms *= FORGET;
    if (!binds)
        return;
    gradient = TOLERANCE * a->long_ms / short_ms;
    gradient = gradient < 0.5 ? 0.5 : gradient > 1 ? 1 : gradient;
    a->limit = within(a->limit, r);
    next = a->limit * (1 - SMOOTHING) + SMOOTHING * (gradient * a->limit + QUEUE);
    a->limit = within(next, r);
}

void adaptive_well(struct adaptive *a, const struct adaptive_rules *r, uint32_t ms, uint64_t in_flight,
                   msec_t now)
{
    double mean;

    if (a->n == 0)
        a->since = now;
    a->sum_ms += ms > 0 ? ms : 1;
    mean = a->sum_ms / ++a->n;
    if (a->n < WINDOW || (double)(now - a->since) < mean)
        return;
    a->n = 0;
    a->sum_ms = 0;
    learn(a, r, mean, (double)in_flight * 2 >= within(a->limit, r));
}

void adaptive_too_much(struct adaptive *a, const struct adaptive_rules *r, msec_t now)
{
    if (a->cut_at != 0 && (double)(now - a->cut_at) < a->long_ms)
        return;
    a->cut_at = now;
    a->limit = within(within(a->limit, r) * CUT, r);
}
