/* why.c: what this node knows about one ticket. Looking changes nothing: it is no
 * poll, and keeps nobody's place. */
#include "segment/node/why.h"

#include <string.h>

#include "segment/core/clock.h"
#include "segment/core/location.h"
#include "segment/core/rules.h"
#include "segment/core/segment.h"
#include "segment/tickets/waiting.h"

static uint64_t at_least_0(msec_t ms)
{
    return ms > 0 ? (uint64_t)ms : 0;
}

/* The deadline is all that is kept: when it was last seen follows from that and from what
 * it is told now, to about a unit and the jitter. */
static void waiting(const struct segtab *t, const struct location *s, unsigned client,
                    struct msg_why_ans *a)
{
    const struct seg *g = s->seg;
    const struct block *b = segq_block(&g->b.q, s->slot);
    uint8_t idle = b->idle[s->slot & (BLOCK_SLOTS - 1)];
    uint64_t whole;

    a->state = WHY_WAITING;
    a->position = segtab_position(g, s->slot);
    a->left_ms = (uint64_t)idle_left(idle, segtab_unit(t, g)) * g->unit_ms;
    a->told_ms = pace_interval_ms(&g->queue->pace[g->lane], a->position);
    a->told_ms = a->told_ms < g->told_max_ms ? a->told_ms : g->told_max_ms;
    whole = (uint64_t)g->queue->idle_ms[client < CLIENT_NCLASSES ? client : CLIENT_GAME] +
            a->told_ms;
    a->silent_ms = (uint32_t)(whole > a->left_ms ? whole - a->left_ms : 0);
}

static void released(const struct segtab *t, const struct seg *g, const struct session *x,
                     struct msg_why_ans *a)
{
    static const uint8_t state[SESSION_NSTATES] = {
        [SESSION_READY] = WHY_READY,         [SESSION_ADMITTED] = WHY_ADMITTED,
        [SESSION_GRACE] = WHY_GRACE,         [SESSION_RETURNING] = WHY_RETURNING,
        [SESSION_OVER] = WHY_GONE,           [SESSION_REVOKED] = WHY_GONE,
    };

    a->state = state[x->state];
    a->reason = x->reason;
    a->released_at_ms = x->released_at_ms;
    a->pass_expires_s = segtab_until_s(g, x);
    if (a->state != WHY_GONE)
        a->left_ms = at_least_0(x->deadline_ms - (session_is_monotonic(x->state)
                                                      ? t->now.now_ms
                                                      : t->service_ms));
    a->unstored = x->state == SESSION_READY && marks_has(&g->unstored, x->id);
}

static void here(const struct segtab *t, const struct location *s, unsigned client,
                 struct msg_why_ans *a)
{
    const struct seg *g = s->seg;
    const struct session *x;

    a->segment = g->b.id;
    a->fenced = seg_is_fenced(g);
    if (s->slot != SEGQ_NONE && segq_is_alive(&g->b.q, s->slot)) {
        waiting(t, s, client, a);
    } else if ((x = sessions_find(&g->b.released, s->id)) != NULL) {
        released(t, g, x, a);
    } else if (g->b.q.rebuilding && s->slot != SEGQ_NONE && segq_is_unknown(&g->b.q, s->slot)) {
        a->state = WHY_AWAY;
    } else {
        a->state = WHY_GONE;
        a->reason = (uint8_t)segtab_reason(s);
    }
}

void segtab_why(struct segtab *t, struct seg_now now, const struct msg_why *q,
                struct msg_why_ans *a)
{
    struct location s;

    segtab_clock(t, now);
    memset(a, 0, sizeof(*a));
    a->ask = q->ask;
    a->lines = "";
    switch (segtab_find(t, q->seg, q->number, &s)) {
    case FOUND_NOWHERE:
        a->state = WHY_NOT_HERE;
        break;
    case FOUND_MOVED:
        a->state = WHY_MOVED;
        a->moved_to = s.moved_to;
        break;
    case FOUND_HERE:
        here(t, &s, q->client, a);
        break;
    }
}
