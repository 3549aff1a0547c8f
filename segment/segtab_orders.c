/* segtab_orders.c: what the manager orders. Every order may come twice; its answer is the
 * status of the segment it is about. */
#include "segment/segtab_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

#define LOG_MODULE "segtab"
#define POP_CHUNK  512u

void segtab_error(struct outbox *out, peer_no to, int code, uint32_t about,
                  const char *text)
{
    outbox_add(out, to, MSG_ERROR)->error = (struct msg_error) { code, about, text };
}

/* ---- who is obeyed --------------------------------------------------------------- */

static void adopt(struct segtab *t, const struct peer *p, uint64_t epoch,
                  struct outbox *out)
{
    bool changed = epoch != t->epoch || strcmp(t->manager_name, p->name) != 0;

    if (epoch != t->epoch)
        log_info("manager=%s epoch=%" PRIu64 " was=%" PRIu64, p->name, epoch, t->epoch);
    t->epoch = epoch;
    t->manager = p->no;
    memcpy(t->manager_name, p->name, sizeof(t->manager_name));
    if (changed)
        segtab_log_epoch(t);
    if (t->told_to != p->no || t->told_epoch != epoch)
        segtab_report_all(t, p->no, out);
    segtab_moves_tell(t, out);
}

/* The highest epoch is obeyed; of two managers under one epoch only the first. */
static bool obey(struct segtab *t, peer_no from, uint64_t epoch, uint32_t about,
                 struct outbox *out)
{
    const struct peer *p = segtab_peer(t, from);
    bool known = strcmp(t->manager_name, p->name) == 0;

    if (epoch < t->epoch || (epoch == t->epoch && t->manager_name[0] != 0 && !known)) {
        t->n.stale_orders++;
        log_warn("refused order=%s manager=%s epoch=%" PRIu64 " seen=%" PRIu64,
                 msg_name((enum msg_type)about), p->name, epoch, t->epoch);
        segtab_error(out, from, SQ_ESTALE, about,
                     "a higher epoch, or another manager, "
                     "commands this node");
        return false;
    }
    if (epoch > t->epoch || t->manager != from)
        adopt(t, p, epoch, out);
    return true;
}

/* ---- rules ----------------------------------------------------------------------- */

static void rules(struct segtab *t, peer_no from, const struct msg_rules *m,
                  struct outbox *out)
{
    bool changed;

    if (segtab_set_rules(t, m, &changed) < 0)
        segtab_error(out, from, SQ_ENOMEM, MSG_RULES, "no memory for the queue");
    else if (changed)
        segtab_log_rules(t, segtab_queue(t, m->queue, false));
}

/* ---- segments -------------------------------------------------------------------- */

/* Segments that take room: joined, or with somebody in line. One whose people were all
 * released has only their records left, and gives its room back at once. */
static uint32_t in_use(struct segtab *t)
{
    uint32_t n = 0;

    list_each (&t->segs, it) {
        const struct seg *g = container_of(it, struct seg, node);

        n += !g->b.q.sealed || g->b.q.waiting != 0;
    }
    return n;
}

static const char *refuse_open(struct segtab *t, const struct msg_seg_open *m)
{
    const struct queue *q = segtab_queue(t, m->queue, false);

    if (t->hold)
        return "the journal does not work";
    if (q == NULL || q->name == NULL || q->issuer == NULL || m->lane >= LANES_MAX ||
        q->lanes[m->lane] == NULL)
        return "no rules for its queue yet";
    if (m->seg == 0 || m->capacity == 0 || m->capacity >= SEGQ_NONE / 2)
        return "impossible segment";
    if (t->segs.n >= t->o.max_segments && in_use(t) >= t->o.max_segments)
        return "too many segments";
    return NULL;
}

static void seg_open(struct segtab *t, peer_no from, const struct msg_seg_open *m,
                     struct outbox *out)
{
    const char *why;
    struct seg *g;

    if (map_get(&t->homes, m->seg) != MAP_NONE) { /* here already, or was */
        segtab_report_one(t, m->seg, from, out);
        return;
    }
    why = refuse_open(t, m);
    if (why != NULL) {
        segtab_error(out, from, SQ_EUNAVAIL, MSG_SEG_OPEN, why);
        return;
    }
    g = segtab_seg_new(t, m, segtab_queue(t, m->queue, false));
    if (g == NULL) {
        segtab_error(out, from, SQ_ENOMEM, MSG_SEG_OPEN, "no memory");
        return;
    }
    log_info("seg=%" PRIu64 " opened queue=%s lane=%u capacity=%" PRIu32, m->seg,
             g->queue->name, m->lane, m->capacity);
    segtab_report_one(t, m->seg, from, out);
}

static void seg_seal(struct segtab *t, peer_no from, const struct msg_seg_seal *m,
                     struct outbox *out)
{
    struct seg *g = segtab_seg(t, m->seg);

    if (g != NULL) {
        if (!g->b.q.sealed || (m->next != 0 && g->next != m->next))
            segtab_log_set(t, JREC_SEAL, m->seg, m->next);
        if (!g->b.q.sealed)
            segq_seal(&g->b.q);
        if (m->next != 0)
            g->next = m->next;
    }
    segtab_report_one(t, m->seg, from, out);
}

static void seg_next(struct segtab *t, peer_no from, const struct msg_seg_next *m,
                     struct outbox *out)
{
    struct seg *g = segtab_seg(t, m->seg);

    if (g != NULL && g->next != m->next) {
        g->next = m->next;
        segtab_log_set(t, JREC_NEXT, m->seg, m->next);
    }
    segtab_report_one(t, m->seg, from, out);
}

static void seg_ahead(struct segtab *t, const struct msg_seg_ahead *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        struct seg *g = segtab_seg(t, m->v[i].seg);

        if (g == NULL || g->ahead <= m->v[i].ahead)
            continue;
        g->ahead = m->v[i].ahead;
        segtab_log_set(t, JREC_AHEAD, g->b.id, g->ahead);
    }
    for (uint32_t i = 0; i < m->n_pace; i++) {
        const struct pace_entry *e = &m->pace[i];
        struct queue *q = segtab_queue(t, e->queue, false);

        if (q == NULL || e->lane >= LANES_MAX)
            continue;
        q->pace[e->lane] = (struct pace) { e->min_ms, e->max_ms, e->us_per_place };
        list_each (&q->segs, it)
            segtab_fit_unit(t, container_of(it, struct seg, queued));
    }
}

static void seg_remove(struct segtab *t, peer_no from, const struct msg_seg_remove *m,
                       struct outbox *out)
{
    struct seg *g = segtab_seg(t, m->seg);
    bool empty = g != NULL && g->b.q.sealed && g->b.q.waiting == 0 &&
                 sessions_live(&g->b.released) == 0 && g->out == NULL && g->in == NULL;

    if (g != NULL && (empty || m->force)) {
        log_info("seg=%" PRIu64 " removed waiting=%" PRIu32, m->seg, g->b.q.waiting);
        segtab_moves_drop(t, g, "the segment is removed", out);
        segtab_log_set(t, JREC_REMOVE, m->seg, 0);
        segtab_seg_free(t, g);
    }
    segtab_report_one(t, m->seg, from, out);
}

/* ---- release --------------------------------------------------------------------- */

static void release(struct segtab *t, struct seg *g, struct session *x, int64_t at_ms)
{
    x->released_at_ms = at_ms;
    x->expires_ms = t->now.now_ms + g->queue->pass_ttl_s * 1000ll;
}

uint32_t segtab_pop_returning(struct segtab *t, struct seg *g, uint32_t n, int64_t at_ms)
{
    struct session *x;
    uint32_t got = 0;

    for (; got < n && (x = sessions_first_returning(&g->b.released)) != NULL; got++) {
        session_set(&g->b.released, x, SESSION_READY, t->service_ms + g->queue->claim_ms);
        release(t, g, x, at_ms);
    }
    return got;
}

/* Room for the records is taken first: who is released can be told so. */
uint32_t segtab_pop_waiting(struct segtab *t, struct seg *g, uint32_t n, int64_t at_ms)
{
    uint32_t slot[POP_CHUNK], got;

    n = n < POP_CHUNK ? n : POP_CHUNK;
    n = n < g->b.q.waiting ? n : g->b.q.waiting;
    if (n == 0 || sessions_reserve(&g->b.released, n) < 0)
        return 0;
    got = segq_pop(&g->b.q, n, slot);
    for (uint32_t i = 0; i < got; i++) {
        struct session *x =
            sessions_add(&g->b.released, body_ticket(&g->b, slot[i]), SESSION_READY,
                         t->service_ms + g->queue->claim_ms);

        release(t, g, x, at_ms);
        if (g->out != NULL)
            xfer_out_touch(&g->out->out, slot[i]);
    }
    return got;
}

static void pop(struct segtab *t, struct seg *g, const struct msg_seg_pop *m)
{
    struct jrec r = { .kind = JREC_POP, .seg = g->b.id };
    uint32_t back = segtab_pop_returning(t, g, m->n, m->released_at_ms), got = back, more;

    do {
        more = segtab_pop_waiting(t, g, m->n - got, m->released_at_ms);
        got += more;
    } while (more > 0 && got < m->n);
    g->popped += got;
    t->n.popped += got;
    g->last_n = got;
    g->last_tick = m->tick;
    r.pop = (struct jrec_pop) { m->tick, got, back, got - back, m->released_at_ms };
    segtab_log(t, &r);
    if (got > 0) {
        segtab_wake(t, g);
        segtab_touch(t, g);
    }
}

/* A repeated tick is answered as it was; an older one with the last. */
static void seg_pop(struct segtab *t, peer_no from, const struct msg_seg_pop *m,
                    struct outbox *out)
{
    struct seg *g = segtab_seg(t, m->seg);
    struct msg_seg_popped *a;
    bool busy;

    if (g == NULL) {
        segtab_report_one(t, m->seg, from, out);
        return;
    }
    busy = (seg_is_fenced(g) || t->hold) && m->tick > g->last_tick;
    if (m->tick > g->last_tick && !busy)
        pop(t, g, m);
    a = &outbox_add(out, from, MSG_SEG_POPPED)->seg_popped;
    a->epoch = t->epoch;
    a->seg = m->seg;
    a->tick = busy ? m->tick : g->last_tick;
    a->n = busy ? 0 : g->last_n;
    a->busy = busy;
    segtab_status(g, &a->status);
}

/* ---- dispatch -------------------------------------------------------------------- */

static uint64_t epoch_of(const struct msg *m)
{
    switch (m->type) {
    case MSG_NODE_OK:
        return m->node_ok.epoch;
    case MSG_RULES:
        return m->rules.epoch;
    case MSG_SEG_OPEN:
        return m->seg_open.epoch;
    case MSG_SEG_SEAL:
        return m->seg_seal.epoch;
    case MSG_SEG_NEXT:
        return m->seg_next.epoch;
    case MSG_SEG_AHEAD:
        return m->seg_ahead.epoch;
    case MSG_SEG_POP:
        return m->seg_pop.epoch;
    case MSG_SEG_REMOVE:
        return m->seg_remove.epoch;
    case MSG_MOVE_IN:
        return m->move_in.epoch;
    case MSG_MOVE_OUT:
        return m->move_out.epoch;
    case MSG_MOVE_END:
        return m->move_end.epoch;
    default:
        return 0; /* below any manager's */
    }
}

void segtab_order(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out)
{
    uint64_t epoch = epoch_of(m);

    if (epoch == 0) {
        segtab_error(out, from, SQ_EUNKNOWN, m->type, "not an order");
        return;
    }
    if (!obey(t, from, epoch, m->type, out))
        return;
    switch (m->type) {
    case MSG_RULES:
        rules(t, from, &m->rules, out);
        break;
    case MSG_SEG_OPEN:
        seg_open(t, from, &m->seg_open, out);
        break;
    case MSG_SEG_SEAL:
        seg_seal(t, from, &m->seg_seal, out);
        break;
    case MSG_SEG_NEXT:
        seg_next(t, from, &m->seg_next, out);
        break;
    case MSG_SEG_AHEAD:
        seg_ahead(t, &m->seg_ahead);
        break;
    case MSG_SEG_POP:
        seg_pop(t, from, &m->seg_pop, out);
        break;
    case MSG_SEG_REMOVE:
        seg_remove(t, from, &m->seg_remove, out);
        break;
    case MSG_MOVE_IN:
    case MSG_MOVE_OUT:
    case MSG_MOVE_END:
        segtab_move_order(t, from, m, out);
        break;
    default: /* NODE_OK: all that it does was done by obey() */
        break;
    }
}
