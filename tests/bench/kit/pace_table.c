/* pace_table.c: what common/ticket/pace.c tells a line, for the table of deploy/SIZING.md.
 * Reads lines "waiting released_per_s budget_per_s min_ms max_ms", and answers each with
 * "told to place 1000, told to place 100000, told to the last, latest", in ms without jitter,
 * but `latest`: how long after its release the unluckiest asks again. sizing.py builds it. */
#include <inttypes.h>
#include <stdio.h>

#include "common/ticket/pace.h"

#define SALTS 64

/* The longest that `place` may be told. */
static uint32_t longest(const struct pace *p, uint64_t place)
{
    uint32_t most = 0;

    for (uint32_t salt = 0; salt < SALTS; salt++) {
        uint32_t ms = pace_jittered_ms(p, place, salt);

        most = ms > most ? ms : most;
    }
    return most;
}

/* Who asks at a place is told an interval, and may be released before it is over. Those who
 * never ask in vain again are late by at most what the first in line is told. */
static double latest(const struct pace *p, uint64_t waiting, double per_s)
{
    double late = longest(p, 1);

    for (double place = 1; place <= (double)waiting; place = place * 1.02 + 1) {
        double ms = longest(p, (uint64_t)place) - place * 1000 / per_s;

        late = ms > late ? ms : late;
    }
    return late;
}

int main(void)
{
    uint64_t waiting;
    double per_s;
    uint32_t budget, min_ms, max_ms;

    while (scanf("%" SCNu64 " %lf %" SCNu32 " %" SCNu32 " %" SCNu32, &waiting, &per_s,
                 &budget, &min_ms, &max_ms) == 5) {
        struct pace p = pace_plan(waiting, per_s, budget, min_ms, max_ms);

        printf("%" PRIu32 " %" PRIu32 " %" PRIu32 " %.0f\n", pace_interval_ms(&p, 1000),
               pace_interval_ms(&p, 100000), pace_interval_ms(&p, waiting),
               latest(&p, waiting, per_s));
    }
    return 0;
}
