/* target_pick.c: the smooth weighted round robin, over scores. */
#include "task/calls/target_pick.h"

#define FREE_MOST 65536 /* slots: more are as good as that */
#define FINE      1024  /* parts of a score of 1 */

static int64_t score(const struct target_room *v)
{
    uint64_t s = (uint64_t)FINE * v->weight * u64_min(v->free, FREE_MOST) / (v->running + 1);

    return (int64_t)u64_max(s, 1);
}

size_t target_pick(struct target_room *v, size_t n)
{
    bool aside = true; /* all are */
    size_t best = TARGET_NONE;
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        aside &= v[i].free == 0 || v[i].aside;
    for (size_t i = 0; i < n; i++) {
        if (v[i].free == 0 || v[i].aside != aside)
            continue;
        sum += score(&v[i]);
        v[i].credit += score(&v[i]);
        if (best == TARGET_NONE || v[i].credit > v[best].credit)
            best = i;
    }
    if (best != TARGET_NONE)
        v[best].credit -= sum;
    for (size_t i = 0; i < n; i++) /* a claim from times when others could not does not last for ever */
        v[i].credit = v[i].credit > sum ? sum : v[i].credit < -sum ? -sum : v[i].credit;
    return best;
}
