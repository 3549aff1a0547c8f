/* lat.c: log-linear buckets: exact below 128 us, then 64 per power of two. */
#include "tests/bench/swarm/lat.h"

#define EXACT 128u
#define SUB   64u

static unsigned bucket_of(uint64_t us)
{
    unsigned e, b;

    if (us < EXACT)
        return (unsigned)us;
    e = 63 - (unsigned)__builtin_clzll(us); /* 7 or more */
    b = EXACT + (e - 7) * SUB + (unsigned)(us >> (e - 6) & (SUB - 1));
    return b < LAT_BUCKETS ? b : LAT_BUCKETS - 1;
}

uint64_t lat_top(unsigned b)
{
    unsigned e;

    if (b < EXACT)
        return b;
    if (b == LAT_BUCKETS - 1)
        return UINT64_MAX; /* it has all that is longer, too */
    e = (b - EXACT) / SUB + 7;
    return ((uint64_t)(SUB + (b - EXACT) % SUB + 1) << (e - 6)) - 1;
}

void lat_add(struct lat *l, uint64_t us)
{
    l->count[bucket_of(us)]++;
    l->n++;
    l->sum_us += us;
    l->max_us = u64_max(l->max_us, us);
}

uint64_t lat_at(const struct lat *l, double q)
{
    uint64_t want = (uint64_t)(q * (double)l->n + 0.999999), seen = 0;

    for (unsigned b = 0; b < LAT_BUCKETS && l->n != 0; b++) {
        seen += l->count[b];
        if (seen >= want && seen != 0)
            return u64_min(lat_top(b), l->max_us);
    }
    return l->max_us;
}

double lat_mean(const struct lat *l)
{
    return l->n != 0 ? (double)l->sum_us / (double)l->n : 0;
}

void lat_pair_add(struct lat_pair *p, int64_t planned_us, int64_t sent_us, int64_t done_us)
{
    int64_t from = planned_us < sent_us ? planned_us : sent_us;

    lat_add(&p->raw, done_us > sent_us ? (uint64_t)(done_us - sent_us) : 0);
    lat_add(&p->corrected, done_us > from ? (uint64_t)(done_us - from) : 0);
}
