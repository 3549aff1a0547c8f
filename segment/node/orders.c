/* orders.c: the orders of the manager. Every order may come twice; its answer is the
 * status of the segment it is about. */
#include "segment/node/orders.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "segment/core/auditing.h"
#include "segment/core/location.h"
#include "segment/core/recording.h"
#include "segment/core/segment.h"
#include "segment/core/state.h"
#include "segment/directory/holdings.h"
#include "segment/directory/members.h"
#include "segment/directory/past.h"
#include "segment/node/report.h"
#include "segment/tickets/credit.h"
#include "segment/tickets/draw.h"
#include "segment/tickets/rebuild.h"
#include "segment/tickets/release.h"
#include "segment/transfer/copying.h"
#include "segment/transfer/move.h"

#define LOG_MODULE "segtab"

/* ---- which manager is obeyed ------------------------------------------------------ */

static void adopt(struct segtab *t, const struct peer *p, uint64_t epoch,
                  struct outbox *out)
{
    uint64_t store = p->store != 0 ? p->store : t->store;
    bool changed = epoch != t->epoch || store != t->store ||
                   strcmp(t->manager_name, p->name) != 0;

    if (epoch != t->epoch)
        log_info("event=manager_obeyed manager=%s epoch=%" PRIu64 " was=%" PRIu64, p->name, epoch,
                 t->epoch);
    t->epoch = epoch;
    t->store = store;
    t->manager = p->no;
    memcpy(t->manager_name, p->name, sizeof(t->manager_name));
    if (changed)
        segtab_log_epoch(t);
    if (t->told_to != p->no || t->told_epoch != epoch)
        segtab_report_all(t, p->no, out);
    segtab_moves_tell(t, out);
}

/* A manager that has other chains than those this node is in would have it forget everybody. */
static bool is_foreign(const struct segtab *t, const struct peer *p)
{
    return t->store != 0 && p->store != 0 && t->store != p->store;
}

static void refuse(struct segtab *t, struct peer *p, uint64_t epoch, uint32_t about,
                   struct outbox *out)
{
    t->n.stale_orders++;
    if (!p->refused)
        log_warn("event=order_refused order=%s manager=%s epoch=%" PRIu64 " seen=%" PRIu64
                 " obeys=%s foreign=%d",
                 msg_name((enum msg_type)about), p->name, epoch, t->epoch,
                 t->manager_name, is_foreign(t, p));
    p->refused = true;
    segtab_error(out, p->no, SQ_ESTALE, about,
                 "a higher epoch, or another manager, commands this node");
}

/* The highest epoch is obeyed; of two managers under one epoch only the first; and none
 * of another store, whatever its epoch. */
static bool obey(struct segtab *t, peer_no from, uint64_t epoch, uint32_t about,
                 struct outbox *out)
{
    struct peer *p = segtab_peer(t, from);
    bool known = strcmp(t->manager_name, p->name) == 0;

    assert(p->role == RPC_MANAGER);
    if (epoch < t->epoch || (epoch == t->epoch && t->manager_name[0] != 0 && !known) ||
        is_foreign(t, p)) {
        refuse(t, p, epoch, about, out);
        return false;
    }
    p->refused = false;
    if (epoch > t->epoch || t->manager != from || (t->store == 0 && p->store != 0))
        adopt(t, p, epoch, out);
    return true;
}

/* ---- the journal cannot write --------------------------------------------------------
 * What the table says now is written down; from here
 * on nothing changes in it that somebody is told of, for a kill would undo it: nobody joins,
 * leaves, times out, is released or moved, and no position falls. Polls are answered.
 *
 *   joins, leaves, sessions   BUSY: the router asks again, and then says 503
 *   time-outs                 the service clock stands still
 *   orders                    answered with the status as it is; the manager gives them again
 *   a seal                    answered so, too (`shut`): people may join behind it from now on
 *   what is ahead             kept apart until it can be written: it comes only once */

static void seal(struct segtab *t, struct seg *g, seg_id next)
{
    g->shut = false;
    if (!g->b.q.sealed || (next != 0 && g->next != next))
        segtab_log_set(t, JREC_SEAL, g->b.id, next);
    if (!g->b.q.sealed)
        segq_seal(&g->b.q);
    if (next != 0)
        g->next = next;
}

/* Closes it to joins: nobody has joined since the hold began, and people may join behind it now. */
static void shut(struct segtab *t, seg_id id)
{
    struct seg *g = segtab_seg(t, id);

    assert(t->hold);
    if (g != NULL && !g->b.q.sealed)
        g->shut = true;
}

/* The order would change what cannot be written now: true, and it is answered. */
static bool puts_off(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out)
{
    if (!t->hold)
        return false;
    switch (m->type) {
    case MSG_SEG_SEAL:
        shut(t, m->seg_seal.seg);
        segtab_report_one(t, m->seg_seal.seg, from, out);
        return true;
    case MSG_SEG_NEXT:
        segtab_report_one(t, m->seg_next.seg, from, out);
        return true;
    case MSG_SEG_REMOVE:
        segtab_report_one(t, m->seg_remove.seg, from, out);
        return true;
    case MSG_MOVE_IN:
    case MSG_MOVE_OUT:
    case MSG_MOVE_END:
        return true;
    default: /* the others look themselves: a pop is answered, positions are kept apart */
        return false;
    }
}

/* Lowers it; at once, or when it can be written down. */
static void set_ahead(struct segtab *t, struct seg *g, uint64_t ahead)
{
    if (t->hold) {
        g->ahead_due = u64_min(g->ahead_due, ahead);
        return;
    }
    if (g->ahead <= ahead)
        return;
    assert(!t->replaying);
    g->ahead = ahead;
    segtab_log_set(t, JREC_AHEAD, g->b.id, ahead);
}

/* The manager hears at once that people here stand still, and that they go on: those behind them
 * stand still as long (PROTOCOL section 5). */
static void say_so(struct segtab *t)
{
    each_active (t, g)
        segtab_touch(t, g);
    t->urgent = true;
}

void segtab_hold(struct segtab *t, bool hold)
{
    if (t->hold != hold)
        say_so(t);
    t->hold = hold;
    if (hold)
        return;
    each_seg (t, g) {
        set_ahead(t, g, g->ahead_due);
        g->ahead_due = AHEAD_UNKNOWN;
        if (g->shut) {
            seal(t, g, 0);
            segtab_touch(t, g);
        }
    }
}

void segtab_full(struct segtab *t, bool full)
{
    t->full = full;
}

void segtab_no_room(struct segtab *t, bool no_room)
{
    if (t->no_room != no_room)
        say_so(t);
    t->no_room = no_room;
}

/* ---- rules ------------------------------------------------------------------------ */

static void order_rules(struct segtab *t, peer_no from, const struct msg_rules *m,
                        struct outbox *out)
{
    bool changed;

    if (segtab_set_rules(t, m, &changed) < 0)
        segtab_error(out, from, SQ_ENOMEM, MSG_RULES, "no memory for the queue");
    else if (changed)
        segtab_log_rules(t, segtab_queue(t, m->queue, false));
}

/* ---- segments --------------------------------------------------------------------- */

/* Segments that take room: joined, or with somebody in line. One whose people were all
 * released has only their records left, and gives its room back at once. */
static uint32_t in_use(struct segtab *t)
{
    uint32_t n = 0;

    each_seg (t, g) {
        n += !g->b.q.sealed || g->b.q.rebuilding || g->b.q.waiting != 0;
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
    if (m->kind == OPEN_REBUILD && m->capacity > SEGTAB_REBUILD_MAX)
        return "too large to be rebuilt";
    if (t->segs.n >= t->o.max_segments && in_use(t) >= t->o.max_segments)
        return "too many segments";
    return NULL;
}

/* Remains of a committed move here, whose commit we have not heard of: its target was lost
 * since (a move of one that is opened comes after its opening). NULL: nothing. */
static struct seg *left_over(const struct segtab *t, const struct msg_seg_open *m)
{
    struct seg *g = m->kind == OPEN_REBUILD ? segtab_seg(t, m->seg) : NULL;

    return g != NULL && g->out != NULL ? g : NULL;
}

/* A segment that was moved away and has been lost there may come back here. */
static bool may_open(const struct segtab *t, const struct msg_seg_open *m)
{
    uint64_t entry = map_get(&t->locations, m->seg);

    return entry == MAP_NONE || (m->kind == OPEN_REBUILD && (entry & 3) == AT_MOVED) ||
           left_over(t, m) != NULL;
}

/* The names go with segtab_seg_free(). */
static void removed(struct segtab *t, struct seg *g, const char *why, struct outbox *out)
{
    log_info("event=segment_removed seg=%" PRIu64 " queue=%s waiting=%" PRIu32, g->b.id,
             g->queue->name, g->b.q.waiting);
    segtab_audit_seg(t, g, AUDIT_REMOVED, 0, g->b.q.waiting);
    segtab_moves_drop(t, g, why, out);
    segtab_log_set(t, JREC_REMOVE, g->b.id, 0);
}

static void early_until(struct segtab *t, struct seg *g, int64_t closes_ms)
{
    segtab_close_at(t, g, closes_ms);
    segtab_log_set(t, JREC_EARLY, g->b.id, (uint64_t)closes_ms);
}

static void order_seg_open(struct segtab *t, peer_no from, const struct msg_seg_open *m,
                           struct outbox *out)
{
    struct seg *g, *old = left_over(t, m);
    const char *why;

    if (!may_open(t, m)) { /* here already, or was */
        segtab_report_one(t, m->seg, from, out);
        return;
    }
    why = refuse_open(t, m);
    if (why != NULL) {
        segtab_error(out, from, SQ_EUNAVAIL, MSG_SEG_OPEN, why);
        return;
    }
    if (old != NULL) {
        removed(t, old, "its target is lost", out);
        segtab_log_rules(t, old->queue); /* in the journal they went with it, if it was the last */
    }
    g = segtab_seg_new(t, m, segtab_queue(t, m->queue, false));
    if (old != NULL)
        segtab_seg_free(t, old);
    if (g != NULL)
        segtab_dir_watch(g);
    if (g != NULL && m->early && m->draw.n == 0) {
        g->early = true;
        early_until(t, g, m->closes_ms);
    }
    if (g != NULL && m->kind == OPEN_REBUILD &&
        (segtab_draw_was(t, g, &m->draw) < 0 || segtab_rebuild_begin(t, g, m) < 0)) {
        segtab_log_set(t, JREC_REMOVE, m->seg, 0);
        segtab_seg_free(t, g);
        g = NULL;
    }
    if (g == NULL) {
        segtab_error(out, from, SQ_ENOMEM, MSG_SEG_OPEN, "no memory");
        return;
    }
    log_info("event=segment_opened seg=%" PRIu64 " queue=%s lane=%u capacity=%" PRIu32, m->seg,
             g->queue->name, m->lane, m->capacity);
    segtab_report_one(t, m->seg, from, out);
}

static void order_seg_seal(struct segtab *t, peer_no from, const struct msg_seg_seal *m,
                           struct outbox *out)
{
    struct seg *g = segtab_seg(t, m->seg);

    if (g != NULL) {
        seal(t, g, m->next);
        if (m->draw.n != 0 && g->early)
            segtab_draw(t, g, &m->draw);
    }
    segtab_report_one(t, m->seg, from, out);
}

static void order_seg_next(struct segtab *t, peer_no from, const struct msg_seg_next *m,
                           struct outbox *out)
{
    struct seg *g = segtab_seg(t, m->seg);

    if (g != NULL && g->next != m->next) {
        g->next = m->next;
        segtab_log_set(t, JREC_NEXT, m->seg, m->next);
    }
    if (g != NULL && g->early && m->closes_ms != 0 && g->closes_ms != m->closes_ms)
        early_until(t, g, m->closes_ms);
    segtab_report_one(t, m->seg, from, out);
}

static void order_seg_ahead(struct segtab *t, peer_no from, const struct msg_seg_ahead *m,
                            struct outbox *out)
{
    (void)from; /* needs no answer */
    (void)out;
    for (uint32_t i = 0; i < m->n; i++) {
        struct seg *g = segtab_seg(t, m->v[i].seg);

        if (g != NULL)
            set_ahead(t, g, m->v[i].ahead);
    }
    for (uint32_t i = 0; i < m->n_kept; i++)
        segtab_stored(t, &m->kept[i]);
    for (uint32_t i = 0; i < m->n_pace; i++) {
        const struct pace_entry *e = &m->pace[i];
        struct queue *q = segtab_queue(t, e->queue, false);

        if (q == NULL || e->lane >= LANES_MAX)
            continue;
        q->pace[e->lane] = (struct pace) { e->min_ms, e->max_ms, e->us_per_place };
        q->soon[e->lane] = e->soon;
        each_queue_seg (q, g)
            segtab_fit_unit(t, g);
    }
}

static void order_seg_pop(struct segtab *t, peer_no from, const struct msg_seg_pop *m,
                          struct outbox *out)
{
    struct seg *g = segtab_seg(t, m->seg);
    struct msg_seg_popped *a;
    bool busy;

    if (g == NULL) {
        segtab_report_one(t, m->seg, from, out);
        return;
    }
    busy = !segtab_pop(t, g, m);
    credit_set_aside(t, g); /* the last one who waited may be gone */
    a = &outbox_add(out, from, MSG_SEG_POPPED)->seg_popped;
    a->epoch = t->epoch;
    a->seg = m->seg;
    a->tick = busy ? m->tick : g->last_tick;
    a->n = busy ? 0 : g->last_n;
    a->busy = busy;
    segtab_status(g, &a->status);
    segtab_list_marks(g, &a->status, out);
}

/* Only on the link on which the manager was told everything since: it takes what it gave by
 * another one for over. */
static void order_seg_credit(struct segtab *t, peer_no from, const struct msg_seg_credit *m,
                             struct outbox *out)
{
    struct seg *g = segtab_seg(t, m->seg);

    if (g != NULL && from == t->told_to && t->epoch == t->told_epoch)
        segtab_credit(t, g, m);
    segtab_report_one(t, m->seg, from, out);
}

static void order_seg_remove(struct segtab *t, peer_no from,
                             const struct msg_seg_remove *m, struct outbox *out)
{
    struct seg *g = segtab_seg(t, m->seg);
    bool empty = g != NULL && g->b.q.sealed && !g->b.q.rebuilding && g->b.q.waiting == 0 &&
                 sessions_live(&g->b.released) == 0 && g->out == NULL && g->in == NULL;

    if (g != NULL && (empty || m->force)) {
        removed(t, g, "the segment is removed", out);
        segtab_past(t, g->queue, &g->b.subjects, &g->b.contacts);
        segtab_seg_free(t, g);
    }
    segtab_report_one(t, m->seg, from, out);
}

/* ---- dispatch --------------------------------------------------------------------- */

/* A registration was done by obey(). */
static void order_node_ok(struct segtab *t, peer_no from, const struct msg_node_ok *m,
                          struct outbox *out)
{
    (void)t;
    (void)from;
    (void)m;
    (void)out;
}

static void order_members(struct segtab *t, peer_no from, const struct msg_members *m,
                          struct outbox *out)
{
    (void)from;
    (void)out;
    segtab_dir_members(t, m);
}

/* Each message of MSG_ORDERS has its handler, order_MEMBER. */
static void order(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out)
{
    switch (m->type) {
#define X(name, number, member, ways)                                                    \
    case MSG_##name:                                                                     \
        order_##member(t, from, &m->member, out);                                        \
        break;
        MSG_ORDERS(X)
#undef X
    default:
        assert(!"an order");
    }
}

void segtab_order(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out)
{
    if (m->epoch == 0) { /* below any manager's */
        segtab_error(out, from, SQ_EUNKNOWN, m->type, "not an order");
        return;
    }
    if (m->type == MSG_NODE_OK)
        segtab_peer(t, from)->store = m->node_ok.store;
    if (obey(t, from, m->epoch, m->type, out) && !puts_off(t, from, m, out))
        order(t, from, m, out);
}
