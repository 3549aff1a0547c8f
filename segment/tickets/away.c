/* away.c: tickets whose turn has come and whose poll is overdue: they are skipped.
 *
 *   head: a a a p p ...     a: overdue, p: polled as told
 *         |     '---pop---> READY (a slot, a share of the rate, the claim window)
 *         '---pop---> GRACE at once: costs nobody anything; back in time: RETURNING, first
 *
 * Without this an abandoned line of 100 000 would use up every slot for one claim window
 * after the other, until the idle time-outs have swept it: minutes in which nobody gets in.
 * Why it is safe: an away ticket is popped like any other (I2: journal, marks, never again in
 * the line; all records of one order are one group of the journal), nobody behind is released
 * by more than was granted (I7), and a person who returns goes before all waiting ones: order
 * is exact among those who are there at their turn (I3). The return has claim window and
 * grace, as an ordinary no-show has, and never less than the idle time in line.
 *
 * The order gives the limit, or forbids to skip anybody: it may be this node that cannot be
 * reached (queuemng/policy/absence.h).
 *
 * Overdue: later than the told interval by that limit, and by SEEN_LATE_MS: who polled at a router
 * in time has been heard of by then. A slot keeps when it times out, and not
 * its class. So the shortest idle time counts of the classes that this segment has seen
 * (of all classes after a move or a replay): nobody is overdue too early. A deadline stays as
 * it was made when the idle times change: for a while the shorter ones count. */
#include "segment/tickets/away.h"

#include <assert.h>

#include "segment/core/auditing.h"
#include "segment/core/recording.h"
#include "segment/core/rules.h"
#include "segment/tickets/spare.h"

static uint32_t shortest_idle_ms(const struct segtab *t, const struct seg *g)
{
    const struct queue *q = g->queue;
    const uint32_t *idle = t->service_ms < q->idle_was_until_ms ? q->idle_was_ms : q->idle_ms;
    bool any = g->classes == 0 || g->b.relocs.n > 0;
    uint32_t ms = UINT32_MAX;

    for (unsigned i = 0; i < CLIENT_NCLASSES; i++)
        if ((any || (g->classes >> i & 1)) && idle[i] < ms)
            ms = idle[i];
    return ms;
}

static bool is_away(const struct segtab *t, const struct seg *g, uint32_t slot,
                    uint32_t idle_ms, uint32_t away_ms)
{
    const struct block *b = segq_block(&g->b.q, slot);
    int8_t left = (int8_t)(uint8_t)(b->idle[slot & (BLOCK_SLOTS - 1)] - segtab_unit(t, g));

    return (msec_t)left * g->unit_ms + away_ms < idle_ms;
}

uint32_t segtab_away_run(const struct segtab *t, const struct seg *g, uint32_t away_ms,
                         uint32_t n, bool *away, struct ticket_id *ids)
{
    uint32_t idle_ms = shortest_idle_ms(t, g), got = 0;
    bool spared = segtab_is_spared(t, g);

    *away = false;
    for (uint32_t slot = segq_next(&g->b.q, 0); slot != SEGQ_NONE && got < n;
         slot = segq_next(&g->b.q, slot + 1)) {
        bool it_is = !spared && is_away(t, g, slot, idle_ms, away_ms);

        if (got == 0)
            *away = it_is;
        if (it_is != *away)
            break;
        ids[got++] = contents_ticket(&g->b, slot);
    }
    return got;
}

static msec_t back_until(const struct segtab *t, const struct queue *q)
{
    msec_t ms = (msec_t)q->claim_ms + q->grace_ms;

    return t->service_ms + ms_max(ms, queue_longest_idle_ms(q));
}

void segtab_away(struct segtab *t, struct seg *g, const struct ticket_id *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct session *x = sessions_find(&g->b.released, ids[i]);

        assert(x != NULL && x->state == SESSION_READY); /* popped by this order */
        g->no_shows++;
        g->away++;
        t->n.no_shows++;
        segtab_audit_ticket(t, g, x->id, AUDIT_NO_SHOW);
        session_set(&g->b.released, x, SESSION_GRACE, back_until(t, g->queue));
        segtab_log_session(t, g, x);
    }
}
