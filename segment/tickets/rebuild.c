/* rebuild.c: a segment whose node was lost with its journal. All that is left of it is
 * what the manager has stored (which numbers were released when) and what its people hold:
 * a token says segment and number under a MAC. So it is opened with all numbers unknown, and
 * each poll restores its ticket at its own number.
 *
 *   number below mark_end   was released (or left, or timed out): a release not longer ago
 *                           than a pass lives counts as inside, and gets the same pass
 *   unknown                 a poll restores it; a leave kills it, and it stays dead
 *   after for_ms            rebuilt: numbers that are still unknown are dead
 *
 * Only tickets with no unknown number before them are released, so the order is exact.
 * Positions are not shown until it is rebuilt. Its clock is the service clock (time in which
 * nobody could ask us does not count), and only while a manager is there (else routers may
 * not have heard that it is here) and the journal works (else nothing can be restored). */
#include "segment/tickets/rebuild.h"

#include <assert.h>
#include <inttypes.h>

#include "common/base/log.h"
#include "segment/core/auditing.h"
#include "segment/core/recording.h"
#include "segment/core/segment.h"

#define LOG_MODULE   "rebuild"
#define NO_MEM_TIMES 8 /* slower, while people are refused for lack of memory */

/* ---- the beginning ---------------------------------------------------------------- */

/* Whether somebody has collected the pass is not known: all count as being inside, for as
 * long as the pass lives, and may collect it. */
static void inside(struct segtab *t, struct seg *g, uint32_t number, int64_t at_ms)
{
    struct ticket_id id = { g->b.id, number };
    struct session *x = sessions_find(&g->b.released, id);
    msec_t end = segtab_pass_end(t, g, at_ms);

    if (x == NULL)
        x = sessions_add(&g->b.released, id, SESSION_ADMITTED, end);
    x->released_at_ms = at_ms; /* the last release counts */
    x->expires_ms = end;
    session_restore(&g->b.released, x, SESSION_ADMITTED, end);
    x->used = SESSION_USE_LOST;
}

int segtab_rebuild_released(struct segtab *t, struct seg *g, uint32_t first, uint32_t n,
                            int64_t at_ms)
{
    if (sessions_reserve(&g->b.released, n) < 0)
        return SQ_ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        inside(t, g, first + i, at_ms);
    return 0;
}

int segtab_rebuild_begin(struct segtab *t, struct seg *g, const struct msg_seg_open *m)
{
    g->mark_end = g->certain = m->mark_end;
    g->b.q.popped_end = m->mark_end;
    g->for_ms = m->for_ms != 0 ? m->for_ms : 1;
    g->looked_ms = t->service_ms;
    for (uint32_t i = 0; i < m->n_marks; i++) {
        const struct mark_row *r = &m->marks[i];

        if (segtab_pass_end(t, g, r->at_ms) <= t->now.now_ms)
            continue;
        if (segtab_rebuild_released(t, g, r->from, r->end - r->from, r->at_ms) < 0)
            return SQ_ENOMEM;
        segtab_log_released(t, g, r);
    }
    segtab_log_rebuild(t, g); /* the last: without it all of this is void after a crash */
    log_warn("event=segment_rebuild seg=%" PRIu64 " queue=%s released=%" PRIu32
             " inside=%" PRIu32 " for_ms=%" PRIu32,
             g->b.id, g->queue->name, m->mark_end, g->b.released.idx.n, g->for_ms);
    segtab_audit_seg(t, g, AUDIT_REBUILDING, 0, 0);
    segtab_wake(t, g);
    segtab_touch(t, g);
    return 0;
}

/* ---- people ----------------------------------------------------------------------- */

static bool is_open(const struct location *s)
{
    return s->slot != SEGQ_NONE && s->slot >= s->seg->mark_end &&
           segq_is_unknown(&s->seg->b.q, s->slot);
}

bool segtab_rebuild_poll(struct segtab *t, const struct location *s)
{
    struct seg *g = s->seg;
    struct jrec r = { .kind = JREC_RESTORED, .seg = g->b.id, .run = { s->slot, 1, 0 } };

    if (!is_open(s))
        return false;
    if (t->hold)
        return true;
    if (segq_restore(&g->b.q, s->slot, segtab_unit(t, g)) < 0) {
        g->refused = true;
        return true;
    }
    segtab_log(t, &r);
    t->n.came_back++;
    segtab_audit_ticket(t, g, s->id, AUDIT_RESTORED);
    segtab_wake(t, g);
    segtab_touch(t, g);
    return true;
}

/* A late poll of it must not bring it back. */
void segtab_rebuild_leave(struct segtab *t, const struct location *s)
{
    struct seg *g = s->seg;

    if (!is_open(s) || segq_kill(&g->b.q, s->slot, DEAD_LEFT) < 0)
        return;
    g->left++;
    t->n.left++;
    segtab_audit_ticket(t, g, s->id, AUDIT_LEFT);
    segtab_log_drops(t, g, &s->slot, 1, DEAD_LEFT);
    segtab_touch(t, g);
}

uint32_t segtab_rebuild_ready(struct seg *g)
{
    g->certain = segq_first_unknown(&g->b.q, g->certain);
    return segq_before(&g->b.q, g->certain);
}

/* ---- the end ---------------------------------------------------------------------- */

void segtab_rebuild_tick(struct segtab *t, struct seg *g)
{
    msec_t step = t->service_ms - g->looked_ms;

    assert(g->b.q.rebuilding && step >= 0);
    g->looked_ms = t->service_ms;
    if (t->manager == 0)
        return;
    g->spent_us += (g->refused ? step * 1000 / NO_MEM_TIMES : step * 1000);
    g->refused = false;
    if (g->spent_us < g->for_ms * 1000ll)
        return;
    segq_rebuilt(&g->b.q, g->mark_end);
    segtab_log_set(t, JREC_REBUILT, g->b.id, 0);
    segtab_audit_seg(t, g, AUDIT_REBUILT, 0, g->b.q.waiting);
    log_info("event=segment_rebuilt seg=%" PRIu64 " queue=%s waiting=%" PRIu32, g->b.id,
             g->queue->name, g->b.q.waiting);
    segtab_touch(t, g);
}
