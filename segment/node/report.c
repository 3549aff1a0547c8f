/* report.c: the manager is told everything after a registration, then what changed, and once a
 * second all segments in which somebody waits. */
#include "segment/node/report.h"

#include <assert.h>
#include <string.h>

#include "segment/core/location.h"
#include "segment/core/segment.h"
#include "segment/core/state.h"
#include "segment/tickets/credit.h"
#include "segment/tickets/turn.h"
#include "segment/tickets/waiting.h"

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
        .shut = g->shut,
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
    m->no_room = t->no_room;
    return m;
}

void segtab_report_all(struct segtab *t, peer_no manager, struct outbox *out)
{
    struct list_node *it = list_first(&t->segs);
    size_t left = t->segs.n;

    t->told_epoch = t->epoch;
    t->told_to = manager;
    do {
        uint32_t n = (uint32_t)u64_min(left, portion_of(MSG_STATUS_MAX, t->o.portion));
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
    r->region = t->o.region;
    r->zone = t->o.zone;
    r->max_tickets = t->o.max_tickets;
    r->max_segments = t->o.max_segments;
    r->epoch_seen = t->epoch;
    r->store = t->store;
    memcpy(r->pass_key, t->o.pass_pub, sizeof(r->pass_key));
    r->other_keys = t->o.pass_others;
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
    uint32_t n = (uint32_t)u64_min(t->dirty.n, portion_of(MSG_STATUS_MAX, t->o.portion));
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

/* ---- figures and lists of what is here ---------------------------------------------- */

void segtab_count(const struct segtab *t, struct segtab_counts *c)
{
    *c = t->n;
    c->segments = t->segs.n;
    c->blocks = t->pool.n_blocks;
    c->tickets = t->pool.n_blocks * BLOCK_SLOTS;
    c->max_tickets = segtab_max_blocks(&t->o) * BLOCK_SLOTS;
    c->core_bytes = block_pool_bytes(&t->pool);
    c->epoch = t->epoch;
    c->service_ms = (uint64_t)t->service_ms;
    c->dir_members = t->dir.n;
    c->dir_entries = t->dir.own.n;
    c->dir_complete = directory_is_complete(&t->dir.own);
    c->dir_busy = t->dir.n_busy;
    c->dir_waited = t->dir.n_parked;
    c->dir_exists = t->dir.n_exists;
    c->contacts = segtab_contacts(t, &c->contacts_due);
    c->waiting = c->ready = c->active = c->returning = c->rebuilding = 0;
    each_seg (t, g) {
        const struct sessions *r = &g->b.released;

        c->rebuilding += g->b.q.rebuilding;
        c->waiting += g->b.q.waiting;
        c->ready += r->n[SESSION_READY];
        c->active += r->n[SESSION_ADMITTED];
        c->returning += r->n[SESSION_RETURNING];
        c->core_bytes += g->b.q.cap_blocks * 15;
    }
}

void segtab_each_waiting(const struct segtab *t, void (*fn)(void *ctx, seg_id host,
                         seg_id seg, uint32_t number), void *ctx)
{
    each_seg (t, g) {
        const struct contents *b = &g->b;

        for (uint32_t n = segq_next(&b->q, 0); n != SEGQ_NONE;
             n = segq_next(&b->q, n + 1)) {
            struct ticket_id id = segtab_outside(t, contents_ticket(b, n));

            fn(ctx, b->id, id.seg, id.number);
        }
    }
}

void segtab_each_seg(const struct segtab *t, void (*fn)(void *ctx,
                     const struct seg_status *s), void *ctx)
{
    each_seg (t, g) {
        struct seg_status s;

        segtab_status(g, &s);
        fn(ctx, &s);
    }
}

/* ---- one ticket ----------------------------------------------------------------------
 * Looking changes nothing: it is no poll, and keeps nobody's place. */

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
        a->left_ms = (uint64_t)ms_max(
            0, x->deadline_ms -
                   (session_is_monotonic(x->state) ? t->now.now_ms : t->service_ms));
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
