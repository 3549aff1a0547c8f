/* buckets.c: the rate of starts is a number of the limiter; rates in units are kept beside it, once some
 * rule has them. */
#include "task/keys/buckets.h"

int tree_reach_units(struct tree *t)
{
    int rc = 0;

    for (uint32_t i = 0; !t->has_units && rc == 0 && i < t->n_limiters; i++)
        rc = pages_reach(&t->buckets, i);
    t->has_units |= rc == 0;
    return rc;
}

bool bucket_has_rate(const struct tree *t, uint32_t i)
{
    return tree_limiter_at(t, i)->rule->rate.interval_ns != 0 || bucket_of(t, i) != NULL;
}

msec_t bucket_lets_when(const struct tree *t, uint32_t i)
{
    const struct limiter *l = tree_limiter_at(t, i);
    const struct unit_bucket *b = bucket_of(t, i);
    msec_t when = l->rule->rate.interval_ns != 0 ? rate_when(&l->rule->rate, l->tat) : 0;

    for (unsigned k = 0; b != NULL && k < UNIT_RATES_MAX; k++)
        when = ms_max(when, units_when(&l->rule->units[k], b->tat[k], b->needs));
    return when;
}

msec_t bucket_full_at(const struct tree *t, uint32_t i)
{
    const struct limiter *l = tree_limiter_at(t, i);
    const struct unit_bucket *b = bucket_of(t, i);
    msec_t when = l->rule->rate.interval_ns != 0 ? rate_full_at(l->tat) : 0;

    for (unsigned k = 0; b != NULL && k < UNIT_RATES_MAX; k++)
        when = l->rule->units[k].units != 0 ? ms_max(when, rate_full_at(b->tat[k])) : when;
    return when;
}

void bucket_settle(struct tree *t, uint32_t i, uint64_t was, uint64_t used, msec_t now)
{
    const struct unit_rate *r = tree_limiter_at(t, i)->rule->units;
    struct unit_bucket *b = bucket_of(t, i);

    for (unsigned k = 0; b != NULL && k < UNIT_RATES_MAX; k++)
        b->tat[k] = units_settle(&r[k], b->tat[k], was, used, now);
}

void bucket_empty(struct tree *t, uint32_t i, msec_t now)
{
    struct limiter *l = tree_limiter_at(t, i);
    struct unit_bucket *b = bucket_of(t, i);

    l->tat = rate_empty(&l->rule->rate, now);
    for (unsigned k = 0; b != NULL && k < UNIT_RATES_MAX; k++) {
        int64_t none = units_empty(&l->rule->units[k], now);

        b->tat[k] = b->tat[k] > none ? b->tat[k] : none;
    }
}

bool tree_level(const struct tree *t, uint32_t i, msec_t now, struct level *l)
{
    const struct limiter *of = tree_limiter_at(t, i);
    const struct unit_bucket *b = of->rule != NULL ? bucket_of(t, i) : NULL;

    *l = (struct level){ .starts = of->rule != NULL && of->rule->rate.interval_ns != 0 ? of->tat : 0 };
    for (unsigned k = 0; b != NULL && k < UNIT_RATES_MAX; k++)
        l->units[k] = of->rule->units[k].units != 0 ? b->tat[k] : 0;
    return of->rule != NULL && bucket_has_rate(t, i) && bucket_full_at(t, i) > now;
}
