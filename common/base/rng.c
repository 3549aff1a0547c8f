/* rng.c: xoshiro256** with splitmix64 seeding (both in the public domain by their
 * authors, written here from their description). */
#include "common/base/rng.h"

#include <math.h>

static uint64_t splitmix64(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void rng_seed(struct rng *r, uint64_t seed)
{
    for (unsigned i = 0; i < 4; i++)
        r->s[i] = splitmix64(&seed); /* never all zero */
}

static inline uint64_t rotl(uint64_t x, unsigned k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_u64(struct rng *r)
{
    uint64_t *s = r->s;
    uint64_t out = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return out;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    /* multiply-shift; the few draws that would favour small numbers are drawn again */
    unsigned __int128 m = (unsigned __int128)rng_u64(r) * n;

    if ((uint64_t)m < n) {
        uint64_t skip = -n % n;

        while ((uint64_t)m < skip)
            m = (unsigned __int128)rng_u64(r) * n;
    }
    return (uint64_t)(m >> 64);
}

double rng_unit(struct rng *r)
{
    return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

bool rng_chance(struct rng *r, double p)
{
    return rng_unit(r) < p;
}

double rng_exp(struct rng *r, double mean)
{
    return -mean * log1p(-rng_unit(r)); /* the argument is above -1 */
}
