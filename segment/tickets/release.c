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
#include "segment/tickets/away.h"
#include "segment/tickets/rebuild.h"

#define POP_CHUNK 512u
#define LATE_MS   500 /* a store takes less */

void segtab_released(const struct segtab *t, const struct seg *g, struct session *x, int64_t at_ms)
{
    x->released_at_ms = at_ms;
    x->until_s = 0;
    x->expires_ms = t->now.now_ms + g->queue->pass_ttl_s * 1000ll;
}

uint32_t segtab_pop_returning(struct segtab *t, struct seg *g, uint32_t n, int64_t at_ms,
                              bool keeps)
{
    struct session *x;
    uint32_t got = 0;

    n = n < POP_CHUNK ? n : POP_CHUNK;
    n = n < g->b.released.n[SESSION_RETURNING] ? n : g->b.released.n[SESSION_RETURNING];
    if (keeps && n > 0 && marks_reserve(&g->unstored, n) < 0)
        return 0;
    for (; got < n && (x = sessions_first_returning(&g->b.released)) != NULL; got++) {
        session_set(&g->b.released, x, SESSION_READY, t->service_ms + g->queue->claim_ms);
        segtab_released(t, g, x, at_ms);
        segtab_audit_released(t, g, x, true);
        if (keeps)
            marks_add(&g->unstored, x->id, at_ms, true);
    }
    return got;
}

/* Room for the records is taken first: every release can be told. */
uint32_t segtab_pop_waiting(struct segtab *t, struct seg *g, uint32_t n, int64_t at_ms,
                            bool keeps, bool away)
{
    uint32_t slot[POP_CHUNK], got, most = g->b.q.waiting;

    if (g->b.q.rebuilding)
        most = segtab_rebuild_ready(g);
    n = n < POP_CHUNK ? n : POP_CHUNK;
    n = n < most ? n : most;
    if (n == 0 || sessions_reserve(&g->b.released, n) < 0)
        return 0;
    if (keeps && marks_reserve(&g->unstored, g->b.relocs.n + 1) < 0)
        return 0;
    got = segq_pop(&g->b.q, n, slot);
    assert(got <= n);
    for (uint32_t i = 0; i < got; i++) {
        struct session *x =
            sessions_add(&g->b.released, contents_ticket(&g->b, slot[i]), SESSION_READY,
                         t->service_ms + g->queue->claim_ms);

        segtab_released(t, g, x, at_ms);
        if (!away)
            segtab_audit_released(t, g, x, false);
        if (keeps)
            marks_add(&g->unstored, x->id, at_ms, false);
        segtab_died(g, slot[i]);
    }
    return got;
}

struct popped { /* by one order */
    uint32_t got;    /* they take a slot, or a share of the rate */
    uint32_t n_away; /* skipped: they take none */
    struct ticket_id away[SEGTAB_AWAY_MAX];
};

/* Some more, all of them there or all of them away; 0: there are none, or no memory. */
static uint32_t pop_run(struct segtab *t, struct seg *g, const struct msg_seg_pop *m,
                        struct popped *x)
{
    struct ticket_id ids[POP_CHUNK];
    uint32_t n, got;
    bool away;

    if (m->away_ms == 0 || g->b.q.rebuilding) { /* rebuilding: known ones have just polled */
        got = segtab_pop_waiting(t, g, m->n - x->got, m->released_at_ms, m->keeps, false);
        x->got += got;
        return got;
    }
    n = segtab_away_run(t, g, m->away_ms, POP_CHUNK, &away, ids);
    n = away ? (uint32_t)u64_min(n, SEGTAB_AWAY_MAX - x->n_away)
             : (uint32_t)u64_min(n, m->n - x->got);
    got = segtab_pop_waiting(t, g, n, m->released_at_ms, m->keeps, away);
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
    back = segtab_pop_returning(t, g, m->n, m->released_at_ms, m->keeps);
    x.got = back;
    x.n_away = 0;
    while (x.got < m->n && pop_run(t, g, m, &x) > 0)
        ;
    got = x.got;
    assert(back <= got && got <= m->n && x.n_away <= SEGTAB_AWAY_MAX);
    if (m->keeps && got + x.n_away > back)
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
    segtab_away(t, g, x.away, x.n_away);
    if (!m->keeps) {
        segtab_log_set(t, JREC_STORED, g->b.id, m->tick); /* no manager will say so */
        t->replica.now = true;
    }
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

/* They hear of it only now: the claim window begins anew. */
static void claim_anew(struct segtab *t, struct seg *g)
{
    struct session *x;

    for (uint32_t i = 0; (x = sessions_next(&g->b.released, &i)) != NULL;)
        if (x->state == SESSION_READY && marks_has(&g->unstored, x->id))
            session_set(&g->b.released, x, SESSION_READY,
                        t->service_ms + g->queue->claim_ms);
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
