/* mng_ticket.c: one ticket to the last place of another lane, for support staff. Pure.
 *
 *   LOOK  source's node   does it wait?
 *   ADD   target's node   a place at the end of that lane
 *   FORWARD  source's     its old place is given up, and leads to the new one
 *   UNDO  target's        if that was too late: it was let in, or it left, meanwhile
 *
 * The source decides, in FORWARD, whether it happens: once, whoever asks how often. What
 * this manager does not live to see, or a link takes with it, has either happened or not:
 * asked again, the source says so. A place that nobody was led to times out like any other
 * that is not asked for. Two orders for one ticket are refused while the first is under
 * way. Nothing of it is stored here.
 *
 * Its subject follows (NAME, NAMED): until then the source keeps it, so whoever joins with
 * it finds the old ticket, and by it the new place. The source sees to that, not we. */
#include "queuemng/core/mng_ticket.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "queuemng/core/step.h"
#include "queuemng/state/alias.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "ticket"

#define TICKETS_MAX      256 /* on their way at once: support staff are few */
#define TICKET_LIMIT_MS  4000
#define TICKET_AGAIN_MS  100
#define TICKET_KEEP_MS   10000 /* nobody has asked how it ended */
#define TICKET_HOPS_MAX  16 /* it may have been moved before, and again */

#define list_ticket(it) list_entry(it, struct mticket, in)

static void end(struct mticket *t, int rc, seg_id seg, uint32_t number)
{
    t->ended = true;
    t->again_ms = 0;
    t->end.rc = rc;
    t->end.seg = seg;
    t->end.number = number;
    log_info("event=ticket_move ticket=%llu-%u to=%llu-%u result=%d",
             (unsigned long long)t->said.seg, t->said.number, (unsigned long long)seg, number,
             rc);
}

/* ---- where to --------------------------------------------------------------------- */

/* Where a join of the lane goes; NULL: nowhere now. What stands behind an unconfirmed tail
 * is joined by nobody: its turn comes first (I3). */
static struct mseg *tail_of(const struct mlane *l)
{
    list_each(&l->segs, it) {
        struct mseg *s = list_entry(it, struct mseg, in_lane);

        if (!seg_is_announced(s) && s->kind == OPEN_TAIL)
            return NULL;
        if (s->state == SEG_OPEN)
            return seg_is_lost(s) ? NULL : s;
    }
    return NULL;
}

static struct mseg *asked_of(const struct mng *m, const struct mticket *t)
{
    const struct mqueue *q = queue_by_id(m, t->queue);

    if (t->said.step == TICKET_LOOK || t->said.step == TICKET_FORWARD)
        return home_of(m, t->said.seg);
    if (t->said.step == TICKET_UNDO)
        return home_of(m, t->said.to);
    return q != NULL && t->lane < q->n_lanes ? tail_of(&q->lane[t->lane]) : NULL;
}

/* ---- giving the order -------------------------------------------------------------- */

static void later(struct mng *m, struct mticket *t)
{
    t->peer = 0;
    t->again_ms = m->now_ms + TICKET_AGAIN_MS;
}

static void give(struct mng *m, struct mticket *t)
{
    struct mseg *s = asked_of(m, t);
    struct msg_ticket *g;

    if (s == NULL || !seg_reachable(s)) {
        later(m, t);
        return;
    }
    if (t->said.step == TICKET_ADD)
        t->said.to = s->id;
    t->peer = s->node->peer;
    t->again_ms = 0;
    g = &mng_to(m, t->peer, MSG_TICKET)->ticket;
    *g = t->said;
    g->epoch = m->epoch;
    g->state = TICKET_ASKED;
}

static void step(struct mng *m, struct mticket *t, enum ticket_step to)
{
    t->said.step = (uint8_t)to;
    give(m, t);
}

/* ---- answers ----------------------------------------------------------------------- */

/* It was moved before: is it where it should be? Else it goes on from there. */
static void follow(struct mng *m, struct mticket *t, const struct msg_ticket *g)
{
    const struct mlane *l = lane_of(m, g->to);

    if (l == NULL || ++t->tries > TICKET_HOPS_MAX) {
        end(t, SQ_EUNKNOWN, 0, 0);
    } else if (l->q->id == t->queue && l->no == t->lane) {
        t->end.was = true;
        end(t, 0, g->to, g->to_number);
    } else {
        t->said.seg = g->to;
        t->said.number = g->to_number;
        step(m, t, TICKET_LOOK);
    }
}

static int refusal(const struct msg_ticket *g)
{
    return g->state == TICKET_INSIDE  ? SQ_ECONFLICT
           : g->state == TICKET_EARLY ? SQ_EBUSY
           : g->state == TICKET_AWAY  ? SQ_ETIMEOUT /* somewhere else: ask again */
                                      : SQ_EUNKNOWN;
}

static void looked(struct mng *m, struct mticket *t, const struct msg_ticket *g)
{
    const struct mlane *l = lane_of(m, t->said.seg);

    if (g->state == TICKET_WAITS && l != NULL && l->q->id == t->queue && l->no == t->lane) {
        t->end.was = true;
        end(t, 0, t->said.seg, t->said.number);
    } else if (g->state == TICKET_WAITS) {
        t->said.client = g->client;
        step(m, t, TICKET_ADD);
    } else if (g->state == TICKET_AWAY) {
        follow(m, t, g);
    } else if (g->state == TICKET_INSIDE || g->state == TICKET_GONE ||
               g->state == TICKET_EARLY) {
        end(t, refusal(g), 0, 0);
    } else {
        later(m, t);
    }
}

static void forwarded(struct mng *m, struct mticket *t, const struct msg_ticket *g)
{
    bool here = g->state == TICKET_AWAY && g->to == t->said.to &&
                g->to_number == t->said.to_number;

    if (g->state == TICKET_DONE || here) { /* here: done before, and the answer was lost */
        end(t, 0, t->said.to, t->said.to_number);
    } else if (g->state == TICKET_BUSY) {
        later(m, t);
    } else {
        t->end.rc = refusal(g);
        step(m, t, TICKET_UNDO);
    }
}

static struct mticket *ticket_find(const struct mng *m, uint64_t order)
{
    list_each(&m->tickets, it)
        if (list_ticket(it)->order == order)
            return list_ticket(it);
    return NULL;
}

/* ---- its subject ------------------------------------------------------------------- */

/* NAME goes on to the node of the new place, its answer back: NAMED. What cannot be sent now
 * is not kept: the source says it again until it hears NAMED. A segment that is nowhere has
 * nobody any more. */
static void pass_on(struct mng *m, const struct msg_ticket *g)
{
    bool back = g->state != TICKET_ASKED || lane_of(m, g->to) == NULL;
    const struct mseg *s = home_of(m, back ? g->seg : g->to);
    struct msg_ticket *x;

    if (g->state == TICKET_BUSY || s == NULL || !seg_reachable(s))
        return;
    x = &mng_to(m, s->node->peer, MSG_TICKET)->ticket;
    *x = *g;
    x->epoch = m->epoch;
    x->step = back ? TICKET_NAMED : TICKET_NAME;
    x->subject = back ? "" : arena_strdup(&m->out->box.mem, g->subject);
    if (x->subject == NULL) {
        x->subject = "";
        m->out->box.failed = true;
    }
}

void on_ticket(struct mng *m, struct mnode *n, const struct msg_ticket *g)
{
    struct mticket *t = ticket_find(m, g->order);

    if (g->step == TICKET_NAME && g->epoch == m->epoch)
        pass_on(m, g);
    if (t == NULL || t->ended || t->peer != n->peer || t->said.step != g->step ||
        g->epoch != m->epoch)
        return;
    t->peer = 0;
    switch ((enum ticket_step)g->step) {
    case TICKET_LOOK:
        looked(m, t, g);
        break;
    case TICKET_ADD:
        if (g->state != TICKET_DONE) {
            later(m, t);
            break;
        }
        t->said.to = g->to;
        t->said.to_number = g->to_number;
        step(m, t, TICKET_FORWARD);
        break;
    case TICKET_FORWARD:
        forwarded(m, t, g);
        break;
    case TICKET_UNDO:
        end(t, t->end.rc, 0, 0);
        break;
    case TICKET_NAME:
    case TICKET_NAMED:
        break;
    }
}

/* ---- time, and links ---------------------------------------------------------------- */

/* Out of time. Before FORWARD was given nothing has changed. */
static void too_late(struct mticket *t)
{
    if (t->said.step == TICKET_UNDO)
        end(t, t->end.rc, 0, 0);
    else
        end(t, t->said.step == TICKET_FORWARD ? SQ_ETIMEOUT : SQ_EUNAVAIL, 0, 0);
}

static void ticket_forget(struct mng *m, struct mticket *t)
{
    list_remove(&m->tickets, &t->in);
    free(t);
}

void tickets_tick(struct mng *m)
{
    list_each(&m->tickets, it) {
        struct mticket *t = list_ticket(it);

        if (t->ended && m->now_ms - t->began_ms >= TICKET_KEEP_MS)
            ticket_forget(m, t);
        else if (t->ended)
            continue;
        else if (m->now_ms - t->began_ms >= TICKET_LIMIT_MS)
            too_late(t);
        else if (t->again_ms != 0 && m->now_ms >= t->again_ms)
            give(m, t);
    }
}

/* LOOK and FORWARD may be given again: the source knows. A place that was perhaps added is
 * let go: another one is added only by another order. */
void tickets_peer_down(struct mng *m, peer_no p)
{
    list_each(&m->tickets, it) {
        struct mticket *t = list_ticket(it);

        if (t->ended || t->peer != p)
            continue;
        if (t->said.step == TICKET_LOOK || t->said.step == TICKET_FORWARD)
            later(m, t);
        else
            too_late(t);
    }
}

void tickets_free(struct mng *m)
{
    list_each(&m->tickets, it)
        free(list_ticket(it));
}

/* ---- orders of operators -------------------------------------------------------------- */

static struct mticket *ticket_new(struct mng *m, const struct mlane *l, seg_id seg,
                                  uint32_t number)
{
    struct mticket *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    t->order = m->epoch << 32 | ++m->ticket_orders;
    t->queue = l->q->id;
    t->lane = l->no;
    t->began_ms = m->now_ms;
    t->said = (struct msg_ticket){ .order = t->order, .step = TICKET_LOOK, .seg = seg,
                                   .number = number, .subject = "" };
    list_push_back(&m->tickets, &t->in);
    return t;
}

static int refuse(const struct mng *m, const char *queue, seg_id seg, uint32_t number,
                  const char *lane, const struct mlane **to, struct err *e)
{
    struct mqueue *q = queue_find(m, queue);
    const struct mlane *l = lane_of(m, seg);
    unsigned i = 0;

    if (q == NULL)
        return err_set(e, SQ_EUNKNOWN, "no queue %s", queue);
    while (i < q->n_lanes && strcmp(def_lane_name(&q->def, i), lane) != 0)
        i++;
    if (i == q->n_lanes)
        return err_set(e, SQ_EINVAL, "?lane= must be a lane of %s", queue);
    if (l == NULL || l->q != q)
        return err_set(e, SQ_EUNKNOWN, "no such ticket in %s", queue);
    list_each(&m->tickets, it) {
        const struct mticket *t = list_ticket(it);

        if (!t->ended && t->said.seg == seg && t->said.number == number)
            return err_set(e, SQ_ECONFLICT, "it is being moved at this moment");
    }
    *to = &q->lane[i];
    return 0;
}

int mng_ticket_move(struct mng *m, msec_t now_ms, const char *queue, seg_id seg,
                    uint32_t number, const char *lane, struct mng_out *out, uint64_t *order,
                    struct err *e)
{
    const struct mlane *to = NULL;
    struct mticket *t;
    int rc = refuse(m, queue, seg, number, lane, &to, e);

    if (rc < 0)
        return rc;
    if (m->tickets.n >= TICKETS_MAX)
        return err_set(e, SQ_EBUSY, "too many tickets are being moved");
    mng_begin(m, now_ms, out);
    t = ticket_new(m, to, seg, number);
    if (t != NULL) {
        *order = t->order;
        give(m, t);
    }
    mng_end(m);
    return t != NULL ? 0 : err_set(e, SQ_ENOMEM, "out of memory");
}

bool mng_ticket_ended(struct mng *m, uint64_t order, struct mng_ticket_end *e)
{
    struct mticket *t = ticket_find(m, order);

    if (t == NULL) { /* of a term that is over */
        *e = (struct mng_ticket_end){ .rc = SQ_ETIMEOUT };
        return true;
    }
    if (!t->ended)
        return false;
    *e = t->end;
    ticket_forget(m, t);
    return true;
}
