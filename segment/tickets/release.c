/* release.c: SEG_POP, and which releases may be told.
 *
 *   SEG_POP --> sessions, rows in `unstored` --status--> manager stores them
 *                                                        |
 *   polls get their passes <-- rows are cleared <--kept--'
 *
 * Until then a poll is answered "come again at once" (or, while no manager is there, with no
 * position): a release that nobody was told of may be undone by a loss. */
#include "segment/tickets/release.h"

#include <assert.h>
#include <string.h>

#include "segment/core/auditing.h"
#include "segment/core/location.h"
#include "segment/core/recording.h"
#include "segment/core/segment.h"
#include "segment/tickets/rebuild.h"
#include "segment/tickets/timeouts.h"

#define POP_CHUNK 512u
#define BACK_MAX  512u /* people who came back, in one order: each is a row in `unstored` */
#define LATE_MS   500  /* a store takes less */
#define AWAY_MAX  4096 /* tickets that one order skips */

void segtab_released(const struct segtab *t, const struct seg *g, struct session *x, int64_t at_ms)
{
    x->released_at_ms = at_ms;
    x->until_s = 0;
    x->expires_ms = t->now.now_ms + g->queue->pass_ttl_s * 1000ll;
}

uint32_t segtab_pop_returning(struct segtab *t, struct seg *g, uint32_t n, int64_t at_ms)
{
    struct session *x;
    uint32_t got = 0;

    n = n < g->b.released.n[SESSION_RETURNING] ? n : g->b.released.n[SESSION_RETURNING];
    if (n > 0 && marks_reserve(&g->unstored, n) < 0)
        return 0;
    for (; got < n && (x = sessions_first_returning(&g->b.released)) != NULL; got++) {
        session_set(&g->b.released, x, SESSION_READY, t->service_ms + seg_claim_ms(g, x->id));
        segtab_released(t, g, x, at_ms);
        segtab_audit_released(t, g, x, true);
        marks_add(&g->unstored, x->id, at_ms, true);
        segtab_due(t, x->id);
    }
    return got;
}

/* Room for the records is taken first: every release can be told. */
uint32_t segtab_pop_waiting(struct segtab *t, struct seg *g, uint32_t n, int64_t at_ms,
                            bool away)
{
    uint32_t slot[POP_CHUNK], got, most = g->b.q.waiting;

    if (g->b.q.rebuilding)
        most = segtab_rebuild_ready(g);
    n = n < POP_CHUNK ? n : POP_CHUNK;
    n = n < most ? n : most;
    if (n == 0 || sessions_reserve(&g->b.released, n) < 0)
        return 0;
    if (marks_reserve(&g->unstored, g->b.relocs.n + 1) < 0)
        return 0;
    got = segq_pop(&g->b.q, n, slot);
    assert(got <= n);
    for (uint32_t i = 0; i < got; i++) {
        struct ticket_id id = contents_ticket(&g->b, slot[i]);
        struct session *x = sessions_add(&g->b.released, id, SESSION_READY,
                                         t->service_ms + seg_claim_ms(g, id));

        segtab_released(t, g, x, at_ms);
        if (!away)
            segtab_audit_released(t, g, x, false);
        marks_add(&g->unstored, x->id, at_ms, false);
        segtab_due(t, x->id);
        segtab_died(g, slot[i]);
    }
    return got;
}

/* ---- tickets whose turn has come and whose poll is overdue are skipped --------------
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
 * reached (queuemng/policy/release.h).
 *
 * Overdue: later than the told interval by that limit, and by SEEN_LATE_MS: who polled at a router
 * in time has been heard of by then. A slot keeps when it times out, and not
 * its class. So the shortest idle time counts of the classes that this segment has seen
 * (of all classes after a move or a replay): nobody is overdue too early. A deadline stays as
 * it was made when the idle times change: for a while the shorter ones count. */

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

/* The first tickets of the line, at most n, all overdue by away_ms or all not; into ids. */
static uint32_t away_run(const struct segtab *t, const struct seg *g, uint32_t away_ms, uint32_t n,
                         bool *away, struct ticket_id *ids)
{
    uint32_t idle_ms = shortest_idle_ms(t, g), got = 0;
    bool spared = segtab_is_spared(t, g);

    *away = false;
    for (uint32_t slot = segq_next(&g->b.q, 0); slot != SEGQ_NONE && got < n;
         slot = segq_next(&g->b.q, slot + 1)) {
        bool skips = !spared && is_away(t, g, slot, idle_ms, away_ms);

        if (got == 0)
            *away = skips;
        if (skips != *away)
            break;
        ids[got++] = contents_ticket(&g->b, slot);
    }
    return got;
}

/* They were popped, and that is logged. */
static void skip(struct segtab *t, struct seg *g, const struct ticket_id *ids, uint32_t n)
{
    msec_t back_ms = ms_max((msec_t)g->queue->claim_ms + g->queue->grace_ms,
                            queue_longest_idle_ms(g->queue));

    for (uint32_t i = 0; i < n; i++) {
        struct session *x = sessions_find(&g->b.released, ids[i]);

        assert(x != NULL && x->state == SESSION_READY); /* popped by this order */
        g->no_shows++;
        g->away++;
        t->n.no_shows++;
        segtab_audit_ticket(t, g, x->id, AUDIT_NO_SHOW);
        session_set(&g->b.released, x, SESSION_GRACE, t->service_ms + back_ms);
        segtab_log_session(t, g, x);
    }
}

/* ---- an order ---------------------------------------------------------------------- */

struct popped { /* by one order */
    uint32_t got;    /* they take a slot, or a share of the rate */
    uint32_t n_away; /* skipped: they take none */
    struct ticket_id away[AWAY_MAX];
};

/* Some more, all of them there or all of them away; 0: there are none, or no memory. */
static uint32_t pop_run(struct segtab *t, struct seg *g, const struct msg_seg_pop *m,
                        struct popped *x)
{
    struct ticket_id ids[POP_CHUNK];
    uint32_t n, got;
    bool away;

    if (m->away_ms == 0 || g->b.q.rebuilding) { /* rebuilding: known ones have just polled */
        got = segtab_pop_waiting(t, g, m->n - x->got, m->released_at_ms, false);
        x->got += got;
        return got;
    }
    n = away_run(t, g, m->away_ms, POP_CHUNK, &away, ids);
    n = away ? (uint32_t)u64_min(n, AWAY_MAX - x->n_away)
             : (uint32_t)u64_min(n, m->n - x->got);
    got = segtab_pop_waiting(t, g, n, m->released_at_ms, away);
    if (away) {
        memcpy(x->away + x->n_away, ids, got * sizeof(*ids));
        x->n_away += got;
    } else {
        x->got += got;
    }
    return got;
}

static void pop(struct segtab *t, struct seg *g, const struct msg_seg_pop *m)
{
    struct jrec r = { .kind = JREC_POP, .seg = g->b.id };
    msec_t since = g->unstored.n > 0 ? g->unstored_ms : t->service_ms;
    struct popped x;
    uint32_t back, got;

    t->popping = m->tick;
    back = segtab_pop_returning(t, g, m->n < BACK_MAX ? m->n : BACK_MAX, m->released_at_ms);
    x.got = back;
    x.n_away = 0;
    while (g->b.released.n[SESSION_RETURNING] == 0 && x.got < m->n && pop_run(t, g, m, &x) > 0)
        ; /* keep those who wait behind all who came back */
    got = x.got;
    assert(back <= got && got <= m->n && x.n_away <= AWAY_MAX);
    if (got + x.n_away > back)
        segq_settle(&g->b.q); /* now: else those held count twice before the other blocks */
    t->popping = 0;
    g->popped += got + x.n_away;
    t->n.popped += got;
    g->last_n = got;
    g->last_tick = m->tick;
    g->unstored_ms = since;
    r.pop = (struct jrec_pop) { m->tick, got, back, got - back + x.n_away,
                                m->released_at_ms };
    segtab_log(t, &r);
    skip(t, g, x.away, x.n_away);
    if (got + x.n_away > 0) {
        segtab_wake(t, g);
        segtab_touch(t, g);
    }
}

/* Nothing can be done now: it is moved, or not written down, or the manager does not
 * store what is released; or nobody is back whose turn it certainly is. */
static bool is_busy(struct segtab *t, struct seg *g)
{
    return seg_is_fenced(g) || t->hold || g->unstored.n >= SEGTAB_UNSTORED_MAX ||
           (g->b.q.rebuilding && g->b.released.n[SESSION_RETURNING] == 0 &&
            segtab_rebuild_ready(g) == 0);
}

bool segtab_pop(struct segtab *t, struct seg *g, const struct msg_seg_pop *m)
{
    bool again = m->tick <= g->last_tick;

    if (!again && is_busy(t, g))
        return false;
    if (!again)
        pop(t, g, m);
    return true;
}

/* ---- releases that are stored ------------------------------------------------------- */

/* They hear of it only now: the claim window begins anew. */
static void claim_anew(struct segtab *t, struct seg *g)
{
    struct session *x;

    for (uint32_t i = 0; (x = sessions_next(&g->b.released, &i)) != NULL;)
        if (x->state == SESSION_READY && marks_has(&g->unstored, x->id))
            session_set(&g->b.released, x, SESSION_READY,
                        t->service_ms + seg_claim_ms(g, x->id));
}

void segtab_stored(struct segtab *t, const struct kept_entry *k)
{
    struct seg *g = segtab_seg(t, k->seg);

    if (g == NULL || g->unstored.n == 0 || k->tick != g->last_tick || t->hold)
        return; /* an earlier one, or it cannot be written: what is here is said again */
    if (t->service_ms - g->unstored_ms > LATE_MS)
        claim_anew(t, g);
    marks_clear(&g->unstored);
    t->replica.now = true;
    segtab_log_set(t, JREC_STORED, g->b.id, k->tick);
}
