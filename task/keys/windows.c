/* windows.c: see the header. What a limiter has taken is in its bucket. */
#include "task/keys/windows.h"

#include <stdlib.h>
#include <string.h>

#include "task/keys/buckets.h"

#define WINDOWS_MOST 1000000 /* in an estimate */

int windows_name(struct tree *t, unsigned zone, const char *name, size_t n)
{
    struct windows *w = t->windows != NULL ? t->windows : calloc(1, sizeof(*w));
    char *copy = w != NULL ? strndup(n > 0 ? name : "", n) : NULL;

    if (copy == NULL) {
        if (t->windows == NULL)
            free(w);
        return SQ_ENOMEM;
    }
    t->windows = w;
    assert(zone >= 1 && zone <= RATE_ZONES_MAX);
    for (unsigned k = zone * RATE_NPERS; k < (zone + 1) * RATE_NPERS; k++) {
        if (w->v[k].wanted) {
            free(copy);
            return SQ_EPROTO;
        }
        w->v[k] = (struct window){ .no = 0 };
    }
    free(w->zone[zone]);
    w->zone[zone] = copy;
    return 0;
}

void windows_forget(const struct tree *t, struct unit_bucket *b)
{
    for (unsigned k = 0; k < UNIT_RATES_MAX; k++) {
        const struct window *w = b->window[k] != 0 ? window_at(t, b->window[k]) : NULL;

        if (w == NULL || ((b->odd >> k ^ w->no) & 1) == 0)
            continue;
        b->tat[k] = 0;
        b->odd ^= (uint8_t)(1u << k);
    }
}

void windows_free(struct tree *t)
{
    for (unsigned z = 0; t->windows != NULL && z <= RATE_ZONES_MAX; z++)
        free(t->windows->zone[z]);
    free(t->windows);
    t->windows = NULL;
}

bool window_lets(const struct tree *t, const struct unit_rate *r, int64_t taken, uint64_t units)
{
    const struct window *w = window_at(t, r->window);

    return w != NULL && w->no != 0 && (taken == 0 || (uint64_t)taken + u64_max(units, 1) <= r->units);
}

/* 0: none has begun. */
static msec_t end_of(const struct tree *t, const struct window *w)
{
    return w == NULL || w->no == 0 ? 0 : ms_max(w->to_ms - t->windows->wall_ahead, 1);
}

msec_t window_when(const struct tree *t, const struct unit_rate *r, int64_t taken, uint64_t units)
{
    const struct window *w = window_at(t, r->window);
    uint64_t all = (uint64_t)taken + units, more = all > r->units ? all - r->units : 0;

    if (window_lets(t, r, taken, units) || w == NULL || w->no == 0)
        return 0;
    return end_of(t, w) + (w->to_ms - w->from_ms) * (msec_t)u64_min((u64_max(more, 1) - 1) / r->units, WINDOWS_MOST);
}

msec_t window_closes(const struct tree *t, uint32_t i)
{
    const struct limiter *l = tree_limiter_at(t, i);
    const struct unit_bucket *b = (l->closed & CLOSED_RATE) != 0 ? bucket_of(t, i) : NULL;
    msec_t ends = 0;

    for (unsigned k = 0; b != NULL && k < UNIT_RATES_MAX; k++)
        if (l->rule->units[k].window != 0 && !window_lets(t, &l->rule->units[k], b->tat[k], b->needs))
            ends = ms_max(ends, end_of(t, window_at(t, l->rule->units[k].window)));
    return ends;
}
