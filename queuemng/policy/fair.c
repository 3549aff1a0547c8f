/* fair.c: least parts first; then water is poured into vessels as wide as their weights. */
#include "queuemng/policy/fair.h"

#include <assert.h>

#define NEAR 8 /* a part of */

static uint64_t room(const struct fair *f, bool beyond)
{
    if (beyond)
        return UINT64_MAX;
    return f->wants > f->part ? f->wants - f->part : 0;
}

static uint64_t give(struct fair *f, uint64_t n, bool beyond)
{
    n = u64_min(n, room(f, beyond));
    f->part += n;
    return n;
}

/* beyond: more than they want. What is left, because nobody has room, is returned. */
static uint64_t pour(struct fair *v, size_t n, uint64_t left, bool beyond)
{
    for (;;) {
        uint64_t weights = 0, given = 0;

        for (size_t i = 0; i < n; i++)
            weights += room(&v[i], beyond) != 0 ? v[i].weight : 0;
        if (left == 0 || weights == 0)
            return left;
        for (size_t i = 0; i < n; i++)
            given += give(&v[i], left * v[i].weight / weights, beyond);
        for (size_t i = 0; i < n && given == 0 && left > 0; i++) /* less than one for each */
            left -= give(&v[i], 1, beyond);
        left -= given;
    }
}

static bool is_near(uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) * NEAR <= a;
}

static bool may_stay(const struct fair *v, size_t n, uint64_t whole)
{
    uint64_t sum = 0;
    bool near = true;

    for (size_t i = 0; i < n; i++) {
        sum += v[i].has;
        near = near && is_near(v[i].has, v[i].part);
    }
    return near && sum == whole;
}

void fair_divide(struct fair *v, size_t n, uint64_t whole)
{
    uint64_t left = whole;

    assert(whole <= (uint64_t)1 << 50);
    for (size_t i = 0; i < n; i++) {
        assert(v[i].weight >= 1 && v[i].weight <= 1000);
        v[i].part = u64_min(v[i].least, left);
        left -= v[i].part;
    }
    left = pour(v, n, left, false);
    (void)pour(v, n, left, true);
    if (!may_stay(v, n, whole))
        return;
    for (size_t i = 0; i < n; i++)
        v[i].part = v[i].has;
}
