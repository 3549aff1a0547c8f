/* calendar.c: a look at all windows, when the first of them ends. */
#include "task/engine/calendar.h"

#include <string.h>

#include "common/base/log.h"
#include "common/recur/meter.h"
#include "task/engine/apply.h"
#include "task/keys/buckets.h"

#define LOG_MODULE "calendar"

#define AGAIN_MS 60000 /* a zone that is not known here */
#define SWEEP    8192 /* limiters that are looked at in a turn */

/* Some rule has a window of it. */
static bool is_wanted(const struct engine *e, unsigned zone)
{
    bool wanted = false;

    for (unsigned k = 0; k < RATE_NPERS; k++)
        wanted |= e->tree.windows->v[zone * RATE_NPERS + k].wanted;
    return wanted;
}

int engine_zone(struct engine *e, const char *name, uint32_t *taken)
{
    struct trec r = { .kind = TREC_WINDOW, .name = { name, (uint32_t)strlen(name) } };
    unsigned to = 0;

    for (unsigned z = 1; z <= RATE_ZONES_MAX; z++) {
        const char *has = e->tree.windows != NULL ? e->tree.windows->zone[z] : NULL;

        if (has != NULL && strcmp(has, name) == 0) {
            *taken |= 1u << z;
            return (int)z;
        }
        if (to == 0 && (has == NULL || (!is_wanted(e, z) && (*taken >> z & 1) == 0)))
            to = z;
    }
    r.lo = to * RATE_NPERS;
    *taken |= 1u << to;
    return to == 0 ? SQ_EFULL : task_perform(e, &r) < 0 ? SQ_ENOMEM : (int)to;
}

static int64_t look(struct engine *e, uint8_t at, struct window *w)
{
    const struct zone z = { e->zones, e->tree.windows->zone[at / RATE_NPERS] };
    const struct meter has = { .window = { w->no, w->from_ms, w->to_ms } };
    struct meter_window next;

    if (!meter_is_over(&has, e->wall_at))
        return w->to_ms;
    if (!meter_window_at(&next, rate_per_seconds(at % RATE_NPERS), &z, e->wall_at)) {
        log_error("event=zone_unknown zone=%s do=\"install tzdata: tasks with rates of its calendar windows wait\"",
                  z.name);
        return e->wall_at + AGAIN_MS;
    }
    task_perform_sure(e, &(const struct trec){ .kind = TREC_WINDOW, .lo = at, .hi = w->no + 1,
                                               .wall = (uint64_t)next.from_ms, .entered = (uint64_t)next.to_ms,
                                               .lease = e->next_lease });
    return next.to_ms;
}

static void look_at_all(struct engine *e)
{
    e->windows_seen = e->wall_at;
    e->windows_at = MSEC_NEVER;
    e->tree.windows->in_parts = true;
    for (unsigned k = RATE_NPERS; k < UNIT_WINDOWS; k++)
        if (e->tree.windows->v[k].wanted)
            e->windows_at = ms_min(e->windows_at, look(e, (uint8_t)k, &e->tree.windows->v[k]));
}

void calendar_advance(struct engine *e)
{
    if (e->tree.windows == NULL)
        return;
    e->tree.windows->wall_ahead = e->wall_at - e->at;
    if (e->wall_at >= e->windows_at || e->wall_at < e->windows_seen)
        look_at_all(e);
    if (e->tree.windows->at != 0)
        windows_sweep(&e->tree, SWEEP, e->at);
}
