/* backoff.c: doubling with a bound, and jitter upwards. */
#include "task/containers/backoff.h"

#include <assert.h>

msec_t backoff_ms(const struct backoff *b, unsigned failures, uint64_t salt)
{
    unsigned twice = failures > 0 ? failures - 1 : 0;
    uint64_t ms, more;

    assert(b->min_ms <= b->max_ms && b->max_ms <= BACKOFF_MAX);
    assert(b->doublings <= 30 && b->jitter <= 100);
    twice = twice < b->doublings ? twice : b->doublings;
    ms = u64_min((uint64_t)b->min_ms << twice, b->max_ms);
    more = ms * b->jitter / 100;
    salt = (salt ^ salt >> 32) * 0x9e3779b97f4a7c15u; /* neighbours' salts are neighbours, too */
    ms += (uint64_t)((unsigned __int128)salt * (more + 1) >> 64);
    return (msec_t)ms;
}
