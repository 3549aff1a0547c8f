/* rng.h: seeded numbers, so that a run can be had again. Pure. Not for secrets.
 * xoshiro256** by Blackman and Vigna, seeded by splitmix64. */
#ifndef SEGQ_RNG_H
#define SEGQ_RNG_H

#include "common/base/base.h"

struct rng {
    uint64_t s[4];
};

void rng_seed(struct rng *r, uint64_t seed);
uint64_t rng_u64(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n); /* 0 .. n-1; n > 0 */
double rng_unit(struct rng *r);                /* 0 <= x < 1 */
bool rng_chance(struct rng *r, double p);
double rng_exp(struct rng *r, double mean);    /* exponential: gaps of a Poisson process */

#endif
