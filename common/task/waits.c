/* waits.c: buckets as numbers of seven bits a byte, the lowest first. */
#include "common/task/waits.h"

#include <math.h>

#include "common/base/buf.h"

void waits_add(struct waits *w, msec_t ms)
{
    unsigned b = ms <= 0 ? 0 : 64 - (unsigned)__builtin_clzll((unsigned long long)ms);

    w->n[b < WAITS_BUCKETS ? b : WAITS_BUCKETS - 1]++;
}

void waits_join(struct waits *w, const struct waits *more)
{
    for (unsigned b = 0; b < WAITS_BUCKETS; b++)
        w->n[b] += more->n[b];
}

size_t waits_pack(const struct waits *w, uint8_t out[WAITS_BYTES])
{
    unsigned end = WAITS_BUCKETS;
    uint8_t *p = out;

    while (end > 0 && w->n[end - 1] == 0)
        end--;
    for (unsigned b = 0; b < end; b++)
        p = varint_put(p, w->n[b]);
    return (size_t)(p - out);
}

bool waits_unpack(struct waits *w, const uint8_t *p, size_t n)
{
    const uint8_t *end = p + n;

    *w = (struct waits){ 0 };
    for (unsigned b = 0; p != NULL && p < end && b < WAITS_BUCKETS; b++)
        p = varint_get(p, end, &w->n[b]);
    if (p == end)
        return true;
    *w = (struct waits){ 0 };
    return false;
}

double waits_quantile(const struct waits *w, double q)
{
    double all = 0, below = 0;

    for (unsigned b = 0; b < WAITS_BUCKETS; b++)
        all += (double)w->n[b];
    for (unsigned b = 0; b < WAITS_BUCKETS && all > 0; b++) {
        double n = (double)w->n[b], least = b == 0 ? 0 : (double)(1ull << (b - 1)), most = (double)(1ull << b);

        if (n > 0 && below + n >= q * all)
            return b == WAITS_BUCKETS - 1 ? least : least + (most - least) * (q * all - below) / n;
        below += n;
    }
    return (double)NAN;
}
