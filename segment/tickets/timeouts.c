/* timeouts.c: time-outs of places, claim windows, passes and records. */
#include "segment/tickets/timeouts.h"

#include <assert.h>

#include "segment/core/auditing.h"
#include "segment/core/recording.h"
#include "segment/core/segment.h"
#include "segment/core/state.h"
#include "segment/tickets/rebuild.h"

void segtab_over(struct segtab *t, struct seg *g, struct session *x, int reason)
{
    if (reason == GONE_LEFT)
        segtab_audit_session(t, g, x, AUDIT_LEFT, NULL);
    else
        segtab_audit_session(t, g, x, AUDIT_LAPSED,
                             x->state == SESSION_RETURNING ? "silent" : "grace_over");
    contents_forget(&g->b, x->id);
    x->reason = (uint8_t)reason;
    session_set(&g->b.released, x, SESSION_OVER, t->service_ms + SEGTAB_OVER_MS);
    segtab_log_session(t, g, x);
    segtab_touch(t, g);
}

static void session_step(struct segtab *t, struct seg *g, struct session *x)
{
    switch ((enum session_state)x->state) {
    case SESSION_READY:
        if (marks_has(&g->unstored, x->id)) { /* not told to anybody yet */
            session_set(&g->b.released, x, SESSION_READY,
                        t->service_ms + ms_max(seg_claim_ms(g, x->id), 1));
            return;
        }
        g->no_shows++;
        t->n.no_shows++;
        segtab_audit_session(t, g, x, AUDIT_NO_SHOW, NULL);
        if (g->queue->grace_ms == 0) {
            segtab_over(t, g, x, GONE_NO_SHOW);
            break;
        }
        session_set(&g->b.released, x, SESSION_GRACE, t->service_ms + g->queue->grace_ms);
        segtab_log_session(t, g, x);
        break;
    case SESSION_GRACE:
    case SESSION_RETURNING:
        segtab_over(t, g, x, GONE_NO_SHOW);
        break;
    default: /* admitted, or over: nothing of it matters any more */
        if (x->state == SESSION_ADMITTED)
            segtab_audit_session(t, g, x, AUDIT_FINISHED, NULL);
        contents_forget(&g->b, x->id);
        segtab_log_forget(t, g, x->id);
        session_forget(&g->b.released, x);
    }
    segtab_touch(t, g);
}

static void end_sessions(struct segtab *t, struct seg *g)
{
    struct session *x;

    while ((x = sessions_due(&g->b.released, t->service_ms, t->now.now_ms)) != NULL)
        session_step(t, g, x);
    sessions_trim(&g->b.released);
}

/* true: swept to its end (or nothing to do); false: the budget is used up. */
static bool sweep_seg(struct segtab *t, struct seg *g, uint32_t *budget)
{
    uint32_t gone[BLOCK_SLOTS], n;
    uint8_t unit = segtab_unit(t, g);

    if (g->b.q.waiting == 0 || (g->sweep_block == 0 && g->swept_unit == unit) ||
        segtab_is_spared(t, g))
        return true;
    if (g->sweep_block == 0)
        g->swept_unit = unit;
    while (g->sweep_block < g->b.q.n_blocks) {
        if (*budget == 0)
            return false;
        (*budget)--;
        n = segq_sweep(&g->b.q, unit, &g->sweep_block, gone);
        assert(n <= BLOCK_SLOTS);
        segtab_audit_died(t, g, gone, n, AUDIT_EXPIRED);
        for (uint32_t i = 0; i < n; i++) {
            segtab_died(g, gone[i]);
            if (g->b.subjects.n + g->b.contacts.n > 0)
                contents_forget(&g->b, contents_ticket(&g->b, gone[i]));
        }
        segtab_log_drops(t, g, gone, n, DEAD_EXPIRED);
        g->expired += n;
        t->n.expired += n;
        if (n > 0)
            segtab_touch(t, g);
    }
    g->sweep_block = 0;
    return true;
}

void segtab_lapse(struct segtab *t)
{
    uint32_t budget = t->o.sweep_blocks;
    bool sweeping = true;

    each_active (t, g) {
        if (!seg_is_fenced(g))
            end_sessions(t, g);
        if (g->b.q.rebuilding)
            segtab_rebuild_tick(t, g);
    }
    for (size_t n = t->active.n; n > 0 && sweeping; n--) {
        struct seg *g = list_entry(list_first(&t->active), struct seg, active);

        sweeping = seg_is_fenced(g) || sweep_seg(t, g, &budget);
        if (!sweeping)
            break;
        list_remove(&t->active, &g->active);
        if (g->b.q.waiting > 0 || g->b.released.idx.n > 0 || g->b.q.rebuilding)
            list_push_back(&t->active, &g->active);
    }
}
