/* report.c: what the manager is told: everything after a registration, then what
 * changed, and once a second all segments in which somebody waits. */
#include "segment/node/report.h"

#include <assert.h>
#include <string.h>

#include "segment/core/location.h"
#include "segment/core/segment.h"
#include "segment/core/state.h"
#include "segment/tickets/credit.h"

void segtab_status(const struct seg *g, struct seg_status *s)
{
    const struct sessions *r = &g->b.released;
    const struct credit *c = &g->credit;
    uint32_t left = credit_left(g->tab, g);

    *s = (struct seg_status) {
        .seg = g->b.id,
        .queue = g->queue->id,
        .lane = g->lane,
        .state = g->b.q.sealed ? SEG_SEALED : SEG_OPEN,
        .capacity = g->capacity,
        .joined = g->b.joined,
        .waiting = g->b.q.waiting,
        .returning = r->n[SESSION_RETURNING],
        .ready = r->n[SESSION_READY],
        .active = r->n[SESSION_ADMITTED],
        .records = sessions_live(r),
        .popped = g->popped,
        .last_tick = g->last_tick,
        .no_shows = g->no_shows,
        .claimed = g->claimed,
        .away = g->away,
        .polls = g->polls,
        .expired = g->expired,
        .left = g->left,
        .next = g->next,
        .move = g->out != NULL  ? g->out->id
                : g->in != NULL ? g->in->id
                                : 0,
        .rebuild = g->b.q.rebuilding,
        .drawn = !g->early,
        .closed = g->closed,
        .closes_ms = g->early ? g->closes_ms : 0,
        .ahead = g->ahead,
        .credit_tick = c->tick,
        .credit_at = left > 0 ? c->at : c->top,
        .credit_end = left > 0 ? c->end : c->top,
        .aside_end = c->aside_end,
        .unused = g->unused,
        .entered = g->entered,
    };
}

void segtab_list_marks(const struct seg *g, struct seg_status *s, struct outbox *out)
{
    const struct marks *k = &g->unstored;

    s->marks = arena_memdup(&out->mem, k->v, k->n * sizeof(*k->v));
    s->n_marks = s->marks != NULL ? k->n : 0;
    out->failed |= s->marks == NULL;
}

static void list_absorbed(const struct seg *g, struct seg_status *s, struct outbox *out)
{
    uint32_t n = g->b.relocs.n;
    seg_id *v = n > 0 ? arena_array(&out->mem, n, sizeof(*v)) : NULL;

    if (v == NULL) {
        out->failed |= n > 0;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        v[i] = g->b.relocs.v[i]->seg;
    s->absorbed = v;
    s->n_absorbed = n;
}

/* A frame with room for n statuses; n is lowered to 0 without memory. */
static struct msg_seg_status *new_frame(struct segtab *t, peer_no to, uint32_t *n,
                                        struct outbox *out)
{
    struct seg_status *v = *n > 0 ? arena_array(&out->mem, *n, sizeof(*v)) : NULL;
    struct msg_seg_status *m = &outbox_add(out, to, MSG_SEG_STATUS)->seg_status;

    if (v == NULL && *n > 0) {
        out->failed = true;
        *n = 0;
    }
    m->epoch = t->epoch;
    m->v = v;
    m->tickets = t->pool.n_blocks * BLOCK_SLOTS;
    m->max_tickets = t->o.max_tickets;
    m->holds = t->hold;
    return m;
}

void segtab_report_all(struct segtab *t, peer_no manager, struct outbox *out)
{
    struct list_node *it = list_first(&t->segs);
    size_t left = t->segs.n;

    t->told_epoch = t->epoch;
    t->told_to = manager;
    do {
        uint32_t n = left < MSG_STATUS_MAX ? (uint32_t)left : MSG_STATUS_MAX;
        struct msg_seg_status *m = new_frame(t, manager, &n, out);

        for (; m->n < n; m->n++, it = list_next(&t->segs, it)) {
            struct seg *g = container_of(it, struct seg, node);

            credit_end(g); /* the manager takes what it gave before for over */
            g->credit.tick = g->credit.aside = 0;
            segtab_status(g, &m->v[m->n]);
            segtab_list_marks(g, &m->v[m->n], out);
            list_absorbed(g, &m->v[m->n], out);
        }
        left = n > 0 ? left - n : 0;
        m->full = true;
        m->more = left > 0;
    } while (left > 0);
}

void segtab_register(struct segtab *t, peer_no manager, struct outbox *out)
{
    struct msg_node_reg *r = &outbox_add(out, manager, MSG_NODE_REG)->node_reg;

    r->addr = arena_strdup(&out->mem, t->addr);
    r->admin = arena_strdup(&out->mem, t->admin);
    r->max_tickets = t->o.max_tickets;
    r->max_segments = t->o.max_segments;
    r->directory = true;
    r->epoch_seen = t->epoch;
    r->store = t->store;
    memcpy(r->pass_key, t->o.pass_pub, sizeof(r->pass_key));
    r->other_keys = t->o.pass_others;
    r->draws = r->closes = r->credits = true;
    if (r->addr == NULL || r->admin == NULL)
        out->failed = true;
    segtab_report_all(t, manager, out);
}

void segtab_report_one(struct segtab *t, seg_id id, peer_no to, struct outbox *out)
{
    const struct seg *g = segtab_seg(t, id);
    uint32_t n = g != NULL;
    struct msg_seg_status *m = new_frame(t, to, &n, out);

    if (n > 0) {
        segtab_status(g, &m->v[0]);
        segtab_list_marks(g, &m->v[0], out);
        m->n = 1;
    } else if (g == NULL) {
        m->gone = arena_memdup(&out->mem, &id, sizeof(id));
        m->n_gone = m->gone != NULL;
    }
}

static void report_dirty(struct segtab *t, struct outbox *out)
{
    uint32_t n = t->dirty.n < MSG_STATUS_MAX ? (uint32_t)t->dirty.n : MSG_STATUS_MAX;
    struct msg_seg_status *m = new_frame(t, t->manager, &n, out);

    assert(t->manager != 0);
    while (m->n < n) {
        struct seg *g = list_entry(list_first(&t->dirty), struct seg, dirty);

        segtab_status(g, &m->v[m->n]);
        segtab_list_marks(g, &m->v[m->n++], out);
        list_remove(&t->dirty, &g->dirty);
    }
}

/* Without a manager nothing is remembered, the next one is told everything; but one that
 * was told everything and has not answered yet must hear of the changes since. */
void segtab_report_changes(struct segtab *t, struct outbox *out)
{
    bool beat = t->now.now_ms - t->beat_ms >= SEGTAB_BEAT_MS;

    t->report_ms = t->now.now_ms;
    t->urgent = false;
    if (beat) {
        t->beat_ms = t->now.now_ms;
        each_active (t, g)
            segtab_touch(t, g);
    }
    if (t->manager == 0 && segtab_peer(t, t->told_to) != NULL)
        return;
    if (t->manager == 0) {
        each_dirty (t, g)
            list_remove(&t->dirty, &g->dirty);
        return;
    }
    if (t->dirty.n == 0 && !beat)
        return;
    do
        report_dirty(t, out);
    while (t->dirty.n > 0 && !out->failed);
}

bool segtab_urgent(const struct segtab *t)
{
    return t->urgent && t->manager != 0;
}
