/* recur.c: ticks are walked in their order; of many that are due together only the newest. */
#include "common/recur/recur.h"

#include <assert.h>
#include <string.h>

const char *recur_wrong(const struct recur *r)
{
    if (r->every_ms != 0 && (r->every_ms < RECUR_EVERY_MIN || r->every_ms > RECUR_EVERY_MAX ||
                             r->every_ms % 1000 != 0))
        return "every must be 1 second to 400 days, in whole seconds";
    if (r->from_ms < 0 || r->from_ms > RECUR_AT_MAX || r->from_ms % 1000 != 0)
        return "from must be a moment in whole Unix seconds, before 2109";
    if (r->until_ms < 0 || r->until_ms > RECUR_AT_MAX || r->until_ms % 1000 != 0)
        return "until must be a moment in whole Unix seconds, before 2109";
    if (r->until_ms != 0 && r->until_ms < r->from_ms)
        return "until is before from";
    return NULL;
}

static int64_t floor_to(int64_t ms, int64_t step)
{
    return ms - (ms % step + step) % step;
}

int64_t recur_next(const struct recur *r, const struct zone *z, int64_t after_ms)
{
    int64_t next;

    if (after_ms < r->from_ms)
        after_ms = r->from_ms - 1;
    if (r->every_ms != 0) {
        next = r->from_ms + floor_to(after_ms - r->from_ms, r->every_ms) + r->every_ms;
    } else {
        next = cron_next(&r->cron, z, floor_to(after_ms, 1000) / 1000);
        if (next == CRON_NEVER)
            return RECUR_NEVER;
        next *= 1000;
    }
    return next > RECUR_AT_MAX || (r->until_ms != 0 && next > r->until_ms) ? RECUR_NEVER : next;
}

static void shift(struct due *d, int64_t tick, unsigned most)
{
    if (d->n == most) {
        d->newest = d->v[0];
        d->missed++;
        memmove(d->v, d->v + 1, (d->n - 1) * sizeof(d->v[0]));
        d->n--;
    }
    d->v[d->n++] = tick;
}

/* Before so many ticks none can count, and who has to walk over a year of minutes keeps others
 * waiting: the moment behind which there are some more than are counted. */
static int64_t look_back(const struct recur *r, const struct zone *z, int64_t last_ms, int64_t now_ms)
{
    for (int64_t back = 86400000; back < now_ms - last_ms; back *= 2) {
        int64_t at = now_ms - back;
        unsigned n = 0;

        while (n <= RECUR_COUNTED && (at = recur_next(r, z, at)) <= now_ms)
            n++;
        if (n > RECUR_COUNTED)
            return now_ms - back;
    }
    return last_ms;
}

/* Passes over at once the many ticks of a short `every` that cannot count. */
static int64_t pass_over(const struct recur *r, const struct zone *z, int64_t last_ms, int64_t now_ms,
                         unsigned most, struct due *d)
{
    int64_t end = r->until_ms != 0 && r->until_ms < now_ms ? r->until_ms : now_ms;
    int64_t first, n;

    if (r->every_ms == 0)
        return look_back(r, z, last_ms, now_ms);
    first = recur_next(r, NULL, last_ms);
    if (first > end)
        return last_ms;
    n = (end - first) / r->every_ms + 1;
    if (n <= most)
        return last_ms;
    d->missed = (uint64_t)(n - most);
    d->newest = first + (n - most - 1) * r->every_ms;
    return d->newest;
}

void recur_due(const struct recur *r, const struct zone *z, int64_t last_ms, int64_t now_ms,
               enum catch_up how, unsigned most, struct due *d)
{
    int64_t at;

    most = how != CATCH_UP_ALL ? 1 : most < RECUR_MAKE_UP ? most : RECUR_MAKE_UP;
    assert(most > 0);
    d->n = 0;
    d->missed = 0;
    d->newest = 0;
    at = pass_over(r, z, last_ms, now_ms, most, d);
    while ((at = recur_next(r, z, at)) <= now_ms)
        shift(d, at, most);
    if (how == CATCH_UP_NONE && d->n > 0 && d->v[0] < now_ms - RECUR_LATE_MS) {
        d->newest = d->v[0];
        d->missed++;
        d->n = 0;
    }
}

/* FNV-1a, then its bits are spread: what it is made of need not be secret. */
int64_t recur_jitter(const char *name, int64_t tick_ms, int64_t jitter_ms)
{
    uint64_t h = 0xcbf29ce484222325u ^ (uint64_t)tick_ms;

    for (; *name != '\0'; name++)
        h = (h ^ (uint8_t)*name) * 0x100000001b3u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    return (int64_t)(h % ((uint64_t)jitter_ms + 1));
}

const char *tick_outcome_word(unsigned outcome)
{
    static const char *const words[TICK_NOUTCOMES] = { "", "fired", "skipped", "missed", "refused" };

    return outcome < TICK_NOUTCOMES ? words[outcome] : "";
}
