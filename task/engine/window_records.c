/* window_records.c: see the header. */
#include "task/engine/window_records.h"

#include <string.h>

#include "common/recur/cron.h"
#include "task/keys/windows.h"

int window_apply(struct engine *e, const struct trec *r)
{
    const struct window w = { r->hi, (int64_t)r->wall, (int64_t)r->entered, r->lease, .emptied = r->state != 0 };
    const struct window *is;

    if (r->lo < RATE_NPERS || r->lo >= UNIT_WINDOWS || r->name.n > ZONE_NAME_MAX || (r->wall | r->entered) > INT64_MAX)
        return SQ_EPROTO;
    if (r->hi == 0)
        return windows_name(&e->tree, (unsigned)r->lo / RATE_NPERS, r->name.p, r->name.n);
    is = window_at(&e->tree, (uint8_t)r->lo);
    if (is == NULL || (is->no != 0 && r->hi != is->no + 1) || w.from_ms >= w.to_ms)
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

bool windows_want(struct engine *e)
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

void windows_write(const struct engine *e, struct buf *out)
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
