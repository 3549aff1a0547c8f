/* calendar.c: a look at all windows, when the first of them ends. */
#include "task/engine/calendar.h"

#include <string.h>

#include "common/recur/meter.h"
#include "task/engine/apply.h"
#include "task/keys/windows.h"

#define AGAIN_MS 60000 /* a zone that is not known here */

int engine_zone(struct engine *e, const char *name)
{
    struct trec r = { .kind = TREC_WINDOW, .name = { name, (uint32_t)strlen(name) } };
    int rc;

    for (unsigned z = 1; z <= RATE_ZONES_MAX; z++) {
        const char *has = e->tree.windows != NULL ? e->tree.windows->zone[z] : NULL;

        if (has != NULL && strcmp(has, name) != 0)
            continue;
        r.lo = z * RATE_NPERS;
        rc = has != NULL ? 0 : task_perform(e, &r);
        return rc < 0 ? rc : (int)z;
    }
    return SQ_EFULL;
}

int calendar_apply(struct engine *e, const struct trec *r)
{
    const struct window w = { r->hi, (int64_t)r->wall, (int64_t)r->entered, r->lease, false, r->state != 0 };

    if (r->lo < RATE_NPERS || r->lo >= UNIT_WINDOWS || r->name.n > ZONE_NAME_MAX || (r->wall | r->entered) > INT64_MAX)
        return SQ_EPROTO;
    if (r->hi == 0)
        return windows_name(&e->tree, (unsigned)r->lo / RATE_NPERS, r->name.p, r->name.n);
    if (window_at(&e->tree, (uint8_t)r->lo) == NULL || r->hi <= window_at(&e->tree, (uint8_t)r->lo)->no ||
        w.from_ms >= w.to_ms)
        return SQ_EPROTO;
    window_begins(&e->tree, (uint8_t)r->lo, &w, e->at);
    return 0;
}

static bool wants(const struct engine *e, const struct key_rule *r, uint32_t n)
{
    bool known = true;

    for (uint32_t i = 0; i < n; i++)
        for (unsigned k = 0; k < UNIT_RATES_MAX; k++) {
            struct window *w = window_at(&e->tree, r[i].units[k].window);

            known &= r[i].units[k].window == 0 || w != NULL;
            if (w != NULL)
                w->wanted = true;
        }
    return known;
}

bool calendar_rules(struct engine *e)
{
    bool known = true;

    for (unsigned k = 0; e->tree.windows != NULL && k < UNIT_WINDOWS; k++)
        e->tree.windows->v[k].wanted = false;
    for (uint32_t i = 0; i < e->n_pools; i++) {
        const struct pool *p = e->pool[i];

        known &= wants(e, p->level, TASK_KEY_LEVELS);
        known &= wants(e, p->keys.pin, p->keys.n_pinned);
        known &= wants(e, p->keys.pattern, p->keys.n - p->keys.n_pinned);
    }
    e->windows_at = e->tree.windows != NULL ? 0 : MSEC_NEVER;
    return known;
}

static int64_t look(struct engine *e, uint8_t at, struct window *w)
{
    static const int64_t seconds[RATE_NPERS] = { 1, 60, 3600, 86400 };
    const struct zone z = { e->zones, e->tree.windows->zone[at / RATE_NPERS] };
    const struct meter has = { .window = { w->no, w->from_ms, w->to_ms } };
    struct meter_window next;

    if (!meter_is_over(&has, e->wall_at))
        return w->to_ms;
    if (!meter_window_at(&next, seconds[at % RATE_NPERS], &z, e->wall_at))
        return e->wall_at + AGAIN_MS;
    task_perform_sure(e, &(const struct trec){ .kind = TREC_WINDOW, .lo = at, .hi = w->no + 1,
                                               .wall = (uint64_t)next.from_ms, .entered = (uint64_t)next.to_ms,
                                               .lease = e->next_lease });
    return next.to_ms;
}

void calendar_advance(struct engine *e)
{
    if (e->tree.windows == NULL)
        return;
    e->tree.windows->wall_ahead = e->wall_at - e->at;
    if (e->wall_at < e->windows_at && e->wall_at >= e->windows_seen)
        return;
    e->windows_seen = e->wall_at;
    e->windows_at = MSEC_NEVER;
    for (unsigned k = RATE_NPERS; k < UNIT_WINDOWS; k++)
        if (e->tree.windows->v[k].wanted)
            e->windows_at = ms_min(e->windows_at, look(e, (uint8_t)k, &e->tree.windows->v[k]));
}

void calendar_write(const struct engine *e, struct buf *out)
{
    for (unsigned k = RATE_NPERS; e->tree.windows != NULL && k < UNIT_WINDOWS; k++) {
        const char *zone = e->tree.windows->zone[k / RATE_NPERS];
        const struct window *w = &e->tree.windows->v[k];
        struct trec r = { .kind = TREC_WINDOW, .lo = k };

        if (zone != NULL && k % RATE_NPERS == 0) {
            r.name = (struct trec_text){ zone, (uint32_t)strlen(zone) };
            trec_append(&r, out);
        }
        if (w->no == 0)
            continue;
        r = (struct trec){ .kind = TREC_WINDOW, .lo = k, .hi = w->no, .wall = (uint64_t)w->from_ms,
                           .entered = (uint64_t)w->to_ms, .lease = w->lease, .state = w->emptied };
        trec_append(&r, out);
    }
}
