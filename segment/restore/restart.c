/* restart.c: after the replay. */
#include "segment/restore/restart.h"

#include <assert.h>
#include <inttypes.h>

#include "common/base/log.h"
#include "segment/core/clock.h"
#include "segment/core/location.h"
#include "segment/core/recording.h"
#include "segment/core/rules.h"
#include "segment/core/segment.h"
#include "segment/core/state.h"
#include "segment/restore/apply.h"
#include "segment/restore/replay.h"
#include "segment/restore/stage.h"

#define LOG_MODULE "replay"
#define FULL_UNITS 120u /* idle time and told interval fit into it: segtab_fit_unit() */

static uint8_t full_deadline(void *ctx, uint8_t deadline)
{
    (void)deadline;
    return *(const uint8_t *)ctx;
}

static msec_t session_end(const struct segtab *t, const struct seg *g,
                          const struct session *x)
{
    uint64_t idle = t->o.retry_ms + (uint64_t)queue_longest_idle_ms(g->queue);

    switch ((enum session_state)x->state) {
    case SESSION_READY:
        return t->service_ms + g->queue->claim_ms;
    case SESSION_ADMITTED:
    case SESSION_REVOKED:
        return x->expires_ms;
    case SESSION_GRACE: /* perhaps skipped as away: its claim window runs, too */
        return t->service_ms + g->queue->claim_ms + g->queue->grace_ms;
    case SESSION_RETURNING:
        return t->service_ms + (msec_t)idle;
    default:
        return t->service_ms + SEGTAB_OVER_MS;
    }
}

/* Only the wall clock tells how old a pass is: the other one began anew with us. */
static void restart_sessions(struct segtab *t, struct seg *g)
{
    struct session *x;

    for (uint32_t i = 0; (x = sessions_next(&g->b.released, &i)) != NULL;) {
        x->expires_ms = segtab_session_end(t, g, x);
        session_set(&g->b.released, x, (enum session_state)x->state,
                    session_end(t, g, x));
    }
}

static void restart_seg(struct segtab *t, struct seg *g)
{
    uint8_t unit, full;

    segtab_fit_unit(t, g);
    unit = segtab_unit(t, g);
    full = (uint8_t)(unit + FULL_UNITS);
    segq_remark(&g->b.q, full_deadline, &full);
    segq_settle(&g->b.q);
    g->looked_ms = t->service_ms;
    g->swept_unit = unit;
    g->classes = UINT8_MAX; /* not written down which */
    if (g->out != NULL) {
        g->out->fenced_ms = t->service_ms;
        g->out->fenced_ahead = g->ahead;
        g->out->fenced_unit = unit;
        g->out->progress_ms = t->now.now_ms;
    }
    restart_sessions(t, g);
    segtab_wake(t, g);
    segtab_touch(t, g);
}

/* Earlier releases are not known: the manager was not told that it is here, and orders it
 * again. */
static bool is_half_begun(const struct seg *g)
{
    return g->b.q.rebuilding && g->for_ms == 0;
}

int segtab_replayed(struct segtab *t, struct seg_now now)
{
    bool unfinished = t->partial;

    segtab_clock(t, now);
    segtab_stage_free(t);
    if (unfinished && replay_snap_end(t) < 0)
        return SQ_ENOMEM;
    assert(t->stage == NULL);
    t->replaying = false;
    t->pool.max_blocks = segtab_max_blocks(&t->o);
    if (t->pool.n_blocks > t->pool.max_blocks)
        log_warn("event=over_max_tickets max_tickets=%" PRIu64
                 " note=\"joins are refused until there is room\"",
                 t->o.max_tickets);
    if (unfinished) /* the end of the snapshot had not been written down */
        segtab_log_set(t, JREC_SNAP_END, 0, 0);
    segtab_rules_replayed(t);
    each_seg (t, g) {
        if (segtab_seg(t, g->b.id) == g && !is_half_begun(g)) {
            restart_seg(t, g);
            continue;
        }
        /* Absorbed by another one here; only its removal was not written down. */
        log_info("event=segment_removed seg=%" PRIu64 " queue=%s why=\"absorbed, or half begun\"",
                 g->b.id, g->queue->name);
        segtab_log_set(t, JREC_REMOVE, g->b.id, 0);
        replay_remove(t, g);
    }
    if (t->segs.n > 0) /* joins may come before the manager does */
        t->dir.mode = DIR_UNKNOWN;
    return 0;
}

void segtab_seal_all(struct segtab *t)
{
    each_seg (t, g) {
        if (g->b.q.sealed || segtab_seg(t, g->b.id) != g)
            continue;
        log_info("event=segment_sealed seg=%" PRIu64 " queue=%s joined=%" PRIu32
                 " why=\"its last joins may be missing\"",
                 g->b.id, g->queue->name, g->b.joined);
        segtab_log_set(t, JREC_SEAL, g->b.id, 0);
        segq_seal(&g->b.q);
        segtab_touch(t, g);
    }
}
