/* fuzz_eta.c: what an operator's service says of waits: whatever it is, what is taken has points that rise, and waits
 * that do not fall from place to place. */
#include <stdlib.h>

#include "task/calls/estimates.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t places[] = { 1, 2, 3, 9, 10, 11, 99, 100, 101, 1000000, ETA_PLACE_MAX, UINT64_MAX };
    struct eta_line l = { .n = 77 };
    int64_t was = 0;

    if (eta_line_read(&l, (const char *)data, size) != NULL) {
        must(l.n == 77);
        return 0;
    }
    must(l.n >= 1 && l.n <= ETA_POINTS_MAX);
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        int64_t ms = eta_line_at(&l, places[i]);

        must(ms >= was && ms <= ETA_MOST_MS);
        was = ms;
    }
    for (unsigned i = 0; i < l.n; i++)
        must(eta_line_at(&l, (uint64_t)l.v[i].place) == l.v[i].ms);
    return 0;
}
