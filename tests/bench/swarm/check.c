/* check.c: one sort and one sweep per property. */
#include "tests/bench/swarm/check.h"

#include <stdlib.h>

static int by_release(const void *a, const void *b)
{
    const struct check_rec *x = a, *y = b;

    return (x->released_ms > y->released_ms) - (x->released_ms < y->released_ms);
}

/* From the last released to the first: `first_done` is the earliest answered join of all
 * who were released strictly later than the present one. */
struct check_order check_order(struct check_rec *v, size_t n)
{
    struct check_order out = { .violations = 0 };
    int64_t first_done = INT64_MAX;
    uint32_t first_who = 0;

    qsort(v, n, sizeof(*v), by_release);
    for (size_t end = n; end > 0;) {
        size_t start = end;

        while (start > 0 && v[start - 1].released_ms == v[end - 1].released_ms)
            start--;
        for (size_t i = start; i < end; i++)
            if (first_done < v[i].sent_us) {
                out.violations++;
                out.early = v[i].who;
                out.late = first_who;
            }
        for (size_t i = start; i < end; i++) /* only now: the same moment is no order */
            if (!v[i].exempt && v[i].done_us < first_done) {
                first_done = v[i].done_us;
                first_who = v[i].who;
            }
        end = start;
    }
    return out;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

uint64_t check_repeats(uint64_t *v, size_t n)
{
    uint64_t repeats = 0;

    qsort(v, n, sizeof(*v), by_value);
    for (size_t i = 1; i < n; i++)
        repeats += v[i] == v[i - 1];
    return repeats;
}

uint64_t check_peak(const struct check_rec *v, size_t n, int64_t window_ms)
{
    uint64_t peak = 0;

    for (size_t first = 0, last = 0; last < n; last++) {
        while (v[last].released_ms - v[first].released_ms >= window_ms)
            first++;
        peak = u64_max(peak, last - first + 1);
    }
    return peak;
}

struct check_steady check_steady(const struct check_rec *v, size_t n)
{
    struct check_steady out = { .moments = n != 0 };
    size_t first = 0, last = n; /* of the moments after the first, and of the last one */

    for (size_t i = 1; i < n; i++) {
        if (v[i].released_ms == v[i - 1].released_ms)
            continue;
        if (out.moments++ == 1)
            first = i;
        last = i;
    }
    if (out.moments >= 3) {
        out.released = last - first;
        out.span_ms = v[last - 1].released_ms - v[0].released_ms;
    }
    return out;
}
