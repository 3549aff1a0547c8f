/* credit.c: numbers set aside, and the joins that get them. */
#include "segment/tickets/credit.h"

#include <assert.h>

#include "segment/core/recording.h"
#include "segment/core/segment.h"
#include "segment/tickets/release.h"

/* True: nobody in it would be overtaken. */
static bool is_empty(const struct seg *g)
{
    return g->b.q.waiting == 0 && g->b.released.n[SESSION_RETURNING] == 0;
}

static bool takes_joins(const struct seg *g)
{
    return !g->b.q.sealed && !g->b.q.rebuilding && !g->early && g->out == NULL && g->in == NULL;
}

bool credit_admits(const struct segtab *t, const struct seg *g)
{
    const struct credit *c = &g->credit;

    return c->at < c->end && t->now.now_ms < c->until_ms && t->manager != 0 && !t->hold &&
           takes_joins(g) && is_empty(g) && g->unstored.n == 0; /* a loss may undo those */
}

void credit_end(struct seg *g)
{
    g->credit.end = g->credit.at;
}

/* Once there is none it stays so: time goes on, and a sealed segment never takes a join again. */
uint32_t credit_left(const struct segtab *t, const struct seg *g)
{
    const struct credit *c = &g->credit;

    assert(c->at <= c->end && c->end <= c->top && c->top <= c->aside_end);
    assert(c->aside_end <= g->b.q.end);
    return t->now.now_ms < c->until_ms && !g->b.q.sealed ? c->end - c->at : 0;
}

/* ---- the order -------------------------------------------------------------------- */

/* Numbers above all given ones: only such are set aside. */
static bool is_last(const struct seg *g)
{
    return g->credit.aside_end == g->b.q.end;
}

void credit_set_aside(struct segtab *t, struct seg *g)
{
    struct jrec r = { .kind = JREC_ASIDE, .seg = g->b.id };
    struct credit *c = &g->credit;
    uint32_t have = is_last(g) ? c->aside_end - c->top : 0, room = g->capacity - g->b.joined, got;

    if (have >= c->aside || t->hold || !takes_joins(g) || !is_empty(g) || room < 2)
        return;
    if (!is_last(g))
        c->at = c->end = c->top = g->b.q.end;
    r.run.first = g->b.q.end;
    segtab_log_joins(t);
    got = segq_set_aside(&g->b.q, c->aside - have < room - 1 ? c->aside - have : room - 1);
    for (uint32_t i = 0; i < got; i++)
        segtab_died(g, r.run.first + i);
    c->aside_end = g->b.joined = g->b.q.end;
    g->unused += got;
    r.run.n = got;
    if (got > 0)
        segtab_log(t, &r);
}

/* More of the credit that is in use; else what is left of that is lost. */
static bool is_longer(const struct segtab *t, const struct seg *g, const struct msg_seg_credit *m)
{
    const struct credit *c = &g->credit;

    return m->released_at_ms == c->at_ms && m->from <= c->at && m->end >= c->end &&
           credit_left(t, g) > 0;
}

static bool may_credit(const struct segtab *t, const struct seg *g, const struct msg_seg_credit *m)
{
    return m->from < m->end && m->end <= g->credit.aside_end && is_last(g) && !t->hold &&
           takes_joins(g) && is_empty(g);
}

void segtab_credit(struct segtab *t, struct seg *g, const struct msg_seg_credit *m)
{
    struct credit *c = &g->credit;
    bool longer = is_longer(t, g, m);

    if (m->tick <= c->tick)
        return;
    c->tick = m->tick;
    if (may_credit(t, g, m) && (longer || m->end > c->top)) {
        if (!longer)
            c->at = m->from > c->top ? m->from : c->top;
        c->end = m->end;
        c->at_ms = m->released_at_ms;
        c->until_ms = t->now.now_ms + m->lease_ms;
        c->half = c->at + (c->end - c->at) / 2;
    } else {
        credit_end(g);
    }
    if (c->top < m->end && m->end <= c->aside_end)
        c->top = m->end;
    c->aside = m->aside;
    credit_set_aside(t, g);
}

/* ---- a join ----------------------------------------------------------------------- */

struct session *credit_take(struct segtab *t, struct seg *g)
{
    struct credit *c = &g->credit;
    struct session *x;

    assert(credit_admits(t, g) && g->unused > 0 && !segq_is_alive(&g->b.q, c->at));
    if (sessions_reserve(&g->b.released, 1) < 0)
        return NULL;
    x = sessions_add(&g->b.released, (struct ticket_id) { g->b.id, c->at++ }, SESSION_READY,
                     t->service_ms + g->queue->claim_ms);
    segtab_released(t, g, x, c->at_ms);
    t->urgent = t->urgent || c->at == c->half || c->at == c->end; /* more is given at once */
    g->unused--;
    g->popped++;
    g->entered++;
    return x;
}

/* ---- replays ---------------------------------------------------------------------- */

int segtab_aside_again(struct seg *g, uint32_t first, uint32_t n)
{
    if (n == 0 || g->b.q.sealed || first != g->b.q.end || n >= g->capacity - g->b.joined)
        return SQ_EPROTO;
    if (segq_set_aside(&g->b.q, n) != n)
        return SQ_ENOMEM;
    g->b.joined = g->b.q.end;
    g->unused += n;
    return 0;
}

int segtab_entered_again(struct segtab *t, struct seg *g, uint32_t first, uint32_t n,
                         int64_t at_ms)
{
    if (n > g->unused || first >= g->b.joined || n > g->b.joined - first)
        return SQ_EPROTO;
    if (sessions_reserve(&g->b.released, n) < 0)
        return SQ_ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        struct ticket_id id = { g->b.id, first + i };

        if (segq_is_alive(&g->b.q, first + i) || sessions_find(&g->b.released, id) != NULL)
            return SQ_EPROTO;
        segtab_released(t, g, sessions_add(&g->b.released, id, SESSION_READY, t->service_ms),
                        at_ms);
    }
    g->unused -= n;
    g->popped += n;
    return 0;
}
