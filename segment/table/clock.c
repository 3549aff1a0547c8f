/* clock.c: the service clock. */
#include "segment/table/clock.h"

#include <assert.h>

#include "segment/table/closing.h"
#include "segment/table/opts.h"

/* Advanced by every call, not by the tick alone, so that a poll just before a late tick
 * is not dated back; and never by more than a step for time in which nobody called. A router
 * that is not heard may be dead: its silence counts when it says something. */
void segtab_clock(struct segtab *t, struct seg_now now)
{
    msec_t to = ms_min(now.now_ms, t->heard_ms), d = to - t->clock_at_ms;

    t->now = now;
    if (SQ_UNLIKELY(t->close_ms != 0 && now.wall_ms >= t->close_ms))
        segtab_close_due(t);
    if (d <= 0)
        return;
    assert(to <= now.now_ms);
    t->clock_at_ms = to;
    if (t->clock_runs && !t->hold && to >= t->rest_until_ms)
        t->service_ms += ms_min(d, SEGTAB_MAX_STEP_MS);
}

void segtab_heard(struct segtab *t, struct seg_now now)
{
    t->heard_ms = now.now_ms;
    segtab_clock(t, now);
}

/* Gives time to those who could not poll, and now come one after the other: those routers, too, that are back
 * a little later. */
void segtab_rest(struct segtab *t)
{
    msec_t now = t->now.now_ms;

    if (t->n_routers == 0 && t->heard_ms != 0) {
        t->back_ms = now;
        t->away_ms = ms_min(now - t->heard_ms, SEGTAB_REST_MS);
        t->rest_until_ms = now + t->away_ms;
    } else if (now < t->rest_until_ms) {
        t->rest_until_ms = ms_min(now + t->away_ms, t->back_ms + 2 * SEGTAB_REST_MS);
    }
    t->heard_ms = t->clock_at_ms = now;
}
