/* buckets.c: the rate of starts is a number of the limiter; rates in units are kept beside it, once some
 * rule has them. */
#include "task/keys/buckets.h"

#include <stdlib.h>
#include <string.h>

/* See the header. What a limiter has taken is in its bucket. */
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

/* Has it room for so many units, of which so many are taken? */
static bool window_lets(const struct tree *t, const struct unit_rate *r, int64_t taken, uint64_t units)
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

int tree_reach_units(struct tree *t)
{
    int rc = 0;

    for (uint32_t i = 0; !t->has_units && rc == 0 && i < t->n_limiters; i++)
        rc = pages_reach(&t->buckets, i);
    t->has_units |= rc == 0;
    return rc;
}

bool bucket_has_rate(const struct tree *t, uint32_t i)
{
    return tree_limiter_at(t, i)->rule->rate.interval_ns != 0 || bucket_of(t, i) != NULL;
}

msec_t bucket_lets_when(const struct tree *t, uint32_t i)
{
    const struct limiter *l = tree_limiter_at(t, i);
    const struct unit_bucket *b = bucket_of(t, i);
    msec_t when = l->rule->rate.interval_ns != 0 ? rate_when(&l->rule->rate, l->tat) : 0;

    for (unsigned k = 0; b != NULL && k < UNIT_RATES_MAX; k++) {
        const struct unit_rate *r = &l->rule->units[k];

        if (r->window == 0)
            when = ms_max(when, units_when(r, b->tat[k], b->needs));
        else if (!window_lets(t, r, b->tat[k], b->needs))
            when = MSEC_NEVER;
    }
    return when;
}

msec_t bucket_full_at(const struct tree *t, uint32_t i)
{
    const struct limiter *l = tree_limiter_at(t, i);
    const struct unit_bucket *b = bucket_of(t, i);
    msec_t when = l->rule->rate.interval_ns != 0 ? rate_full_at(l->tat) : 0;

    for (unsigned k = 0; b != NULL && k < UNIT_RATES_MAX; k++)
        if (l->rule->units[k].window != 0)
            when = b->tat[k] != 0 ? MSEC_NEVER : when;
        else if (l->rule->units[k].units != 0)
            when = ms_max(when, rate_full_at(b->tat[k]));
    return when;
}

/* More is taken now; less comes back to the window in which it was taken. */
static int64_t window_settle(const struct tree *t, uint8_t window, int64_t taken, const struct settlement *s)
{
    const struct window *w = window_at(t, window);
    int64_t more = (int64_t)s->used - (int64_t)s->was;

    if (more < 0 && (w == NULL || s->lease < w->lease))
        return taken;
    return taken + more > 0 ? taken + more : 0;
}

void bucket_settle(struct tree *t, uint32_t i, const struct settlement *s, msec_t now)
{
    const struct unit_rate *r = tree_limiter_at(t, i)->rule->units;
    struct unit_bucket *b = bucket_of(t, i);

    for (unsigned k = 0; b != NULL && k < UNIT_RATES_MAX; k++)
        b->tat[k] = r[k].window != 0 ? window_settle(t, r[k].window, b->tat[k], s)
                                     : units_settle(&r[k], b->tat[k], s->was, s->used, now);
}

void bucket_pay(struct tree *t, uint32_t i, uint64_t cost, msec_t now)
{
    const struct unit_rate *r = tree_limiter_at(t, i)->rule->units;
    struct unit_bucket *b = bucket_of(t, i);

    for (unsigned k = 0; b != NULL && k < UNIT_RATES_MAX; k++)
        b->tat[k] = r[k].window != 0 ? b->tat[k] + (int64_t)cost : units_pass(&r[k], b->tat[k], cost, now);
}

/* A window goes on at whatever place its rate is now; the others by their order among themselves. */
void bucket_anew(struct tree *t, uint32_t i, msec_t now)
{
    const struct unit_rate *r = tree_limiter_at(t, i)->rule->units;
    struct unit_bucket *b = t->has_units ? pages_at(&t->buckets, i) : NULL, was;
    unsigned next = 0;

    if (b == NULL)
        return;
    windows_forget(t, b);
    was = *b;
    *b = (struct unit_bucket){ .needs = 0 };
    for (unsigned k = 0; k < UNIT_RATES_MAX; k++) {
        unsigned at = r[k].window != 0 ? 0 : next;

        while (at < UNIT_RATES_MAX && was.window[at] != r[k].window)
            at++;
        b->window[k] = r[k].window;
        windows_forget(t, b); /* nothing is taken yet of the one that runs */
        if (at < UNIT_RATES_MAX)
            b->tat[k] = r[k].window != 0 ? was.tat[at] : units_anew(&r[k], was.tat[at], now);
        if (r[k].window == 0)
            next = at + 1;
    }
}

void bucket_empty(struct tree *t, uint32_t i, msec_t now)
{
    struct limiter *l = tree_limiter_at(t, i);
    struct unit_bucket *b = bucket_of(t, i);

    l->tat = rate_empty(&l->rule->rate, now);
    for (unsigned k = 0; b != NULL && k < UNIT_RATES_MAX; k++) {
        const struct unit_rate *r = &l->rule->units[k];
        const struct window *w = window_at(t, r->window);
        int64_t none = r->window == 0 ? units_empty(r, now) : w != NULL && w->emptied ? (int64_t)r->units : 0;

        b->tat[k] = b->tat[k] > none ? b->tat[k] : none;
    }
}

bool tree_level(const struct tree *t, uint32_t i, msec_t now, struct level *l)
{
    const struct limiter *of = tree_limiter_at(t, i);
    const struct unit_bucket *b = of->rule != NULL ? bucket_of(t, i) : NULL;

    *l = (struct level){ .starts = of->rule != NULL && of->rule->rate.interval_ns != 0 ? of->tat : 0 };
    for (unsigned k = 0; b != NULL && k < UNIT_RATES_MAX; k++)
        l->units[k] = of->rule->units[k].units != 0 ? b->tat[k] : 0;
    return of->rule != NULL && bucket_has_rate(t, i) && bucket_full_at(t, i) > now;
}
