/* segtab_move.c: moves, seen from a node: which are under way, and what ends them.
 *
 *   source:  DIALLING --link--> RUNNING (copying, then fenced) --MOVE_END--> gone
 *   target:  RUNNING (receiving) --everything is here--> READY --MOVE_END--> gone
 *
 * What can go wrong                       then
 *   the link breaks before COPY_END       both sides abort by themselves and say so
 *   it breaks after it                    the source waits for MOVE_END; so does a target
 *                                         that was READY; one that was not drops the copy
 *   a message of the copy is lost         the target sees the gap and refuses
 *   nothing comes any more                each side aborts after a while
 * Once COPY_END was sent the target may be READY: from then on neither a source nor a
 * READY target decides by itself. (A fence without COPY_END is safe to lift.) */
#include "segment/node/segtab_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

#define LOG_MODULE "move"

struct xfer_time segtab_move_time(const struct segtab *t, const struct seg *g)
{
    return (struct xfer_time) {
        .now_ms = t->now.now_ms,
        .service_ms = t->service_ms,
        .wall_ms = t->now.wall_ms,
        .unit_ms = g->unit_ms,
        .unit_now = segtab_unit(t, g),
    };
}

/* ---- reports --------------------------------------------------------------------- */

void segtab_move_tell(struct segtab *t, uint64_t move, seg_id from, seg_id to,
                      uint8_t side, uint8_t report, uint32_t tickets, const char *why,
                      struct outbox *out)
{
    if (t->manager == 0)
        return; /* the next one is told everything */
    outbox_add(out, t->manager, MSG_MOVE_STATUS)->move_status = (struct msg_move_status) {
        .epoch = t->epoch,
        .move = move,
        .from = from,
        .to = to,
        .side = side,
        .report = report,
        .tickets = tickets,
        .why = why,
    };
}

static void tell_move(struct segtab *t, struct move *v, struct outbox *out)
{
    bool in = v->side == MOVE_SIDE_IN;
    uint8_t report =
        in ? (v->stage == MOVE_READY ? MOVE_FENCED : MOVE_ACCEPTED) : MOVE_COPYING;
    uint32_t tickets = in ? v->in.waiting : v->seg->b.q.waiting;

    v->told_ms = t->now.now_ms;
    segtab_move_tell(t, v->id, v->from, v->to, v->side, report, tickets, "", out);
}

void segtab_moves_tell(struct segtab *t, struct outbox *out)
{
    list_each (&t->moves, it)
        tell_move(t, container_of(it, struct move, node), out);
}

/* ---- life ------------------------------------------------------------------------ */

struct move *segtab_move_find(const struct segtab *t, uint64_t id, uint8_t side)
{
    for (struct list_node *it = list_first(&t->moves); it != NULL;
         it = list_next(&t->moves, it)) {
        struct move *v = container_of(it, struct move, node);

        if (v->id == id && v->side == side)
            return v;
    }
    return NULL;
}

static struct move *move_new(struct segtab *t, uint64_t id, seg_id from, seg_id to,
                             uint8_t side, struct seg *g)
{
    struct move *v = calloc(1, sizeof(*v));

    if (v == NULL)
        return NULL;
    v->id = id;
    v->from = from;
    v->to = to;
    v->side = side;
    v->seg = g;
    v->progress_ms = t->now.now_ms;
    if (side == MOVE_SIDE_IN) {
        xfer_in_init(&v->in, id, from, to, &t->pool);
        segtab_dir_watch_move(v);
        v->stage = MOVE_RUNNING;
        g->in = v;
    } else if (xfer_out_init(&v->out, &g->b, id, to, g->ahead) < 0) {
        free(v);
        return NULL;
    } else {
        g->out = v;
    }
    list_push_back(&t->moves, &v->node);
    return v;
}

void segtab_move_free(struct segtab *t, struct move *v)
{
    list_remove(&t->moves, &v->node);
    segtab_touch(t, v->seg);
    if (v->side == MOVE_SIDE_IN) {
        xfer_in_fini(&v->in);
        segq_unreserve(&v->seg->b.q);
        v->seg->in = NULL;
    } else {
        xfer_out_fini(&v->out);
        v->seg->out = NULL;
    }
    free(v);
}

struct thaw {
    uint8_t then, now, min;
};

static uint8_t thaw_one(void *ctx, uint8_t deadline)
{
    const struct thaw *w = ctx;
    uint8_t left = body_left(deadline, w->then);

    return (uint8_t)(w->now + (left > w->min ? left : w->min));
}

/* Behind the fence nobody could be heard: that time does not count. */
static void thaw(struct segtab *t, const struct move *v)
{
    struct seg *g = v->seg;
    uint32_t min = XFER_MIN_LEFT_MS / g->unit_ms + 2;
    struct thaw w = { v->fenced_unit, segtab_unit(t, g), (uint8_t)min };

    segq_remark(&g->b.q, thaw_one, &w);
    sessions_shift(&g->b.released, t->service_ms - v->fenced_ms);
}

/* Nothing of it is left here; the segment goes on as if it had not been. */
void segtab_move_abort(struct segtab *t, struct move *v, const char *why,
                       struct outbox *out)
{
    struct seg *g = v->seg;

    if (v->side == MOVE_SIDE_OUT && xfer_out_is_final(&v->out))
        segtab_log_set(t, JREC_FREED, g->b.id, v->id);
    if (v->side == MOVE_SIDE_OUT && xfer_out_is_fenced(&v->out))
        thaw(t, v);
    log_info("move=%" PRIu64 " seg=%" PRIu64 ">%" PRIu64 " side=%s aborted why=%s", v->id,
             v->from, v->to, v->side == MOVE_SIDE_IN ? "in" : "out", why);
    segtab_move_tell(t, v->id, v->from, v->to, v->side, MOVE_ABORTED, 0, why, out);
    t->n.moves_aborted++;
    segtab_move_free(t, v);
    segtab_fit_unit(t, g); /* what was put off while it was copied */
}

void segtab_moves_drop(struct segtab *t, struct seg *g, const char *why,
                       struct outbox *out)
{
    if (g->out != NULL)
        segtab_move_abort(t, g->out, why, out);
    if (g->in != NULL)
        segtab_move_abort(t, g->in, why, out);
}

/* Nobody knows any more where its other end is; nothing has to be said to it. */
int segtab_move_recover(struct segtab *t, struct seg *g, uint64_t id, seg_id to)
{
    struct move *v = move_new(t, id, g->b.id, to, MOVE_SIDE_OUT, g);

    if (v == NULL)
        return SQ_ENOMEM;
    v->stage = MOVE_RUNNING;
    v->out.phase = XFER_SENT;
    return 0;
}

/* ---- source ---------------------------------------------------------------------- */

static void pump(struct segtab *t, struct move *v, struct outbox *out)
{
    struct xfer_time tm = segtab_move_time(t, v->seg);
    bool fenced = xfer_out_is_fenced(&v->out), final = xfer_out_is_final(&v->out);
    const char *why;

    if (t->hold)
        return;
    v->out.ahead = v->seg->ahead; /* it may have fallen since the copy began */
    v->out.waits = v->seg->unkept.n > 0; /* the fence: what is released stays here till then */
    why = xfer_out_pump(&v->out, &v->seg->b, &tm, segtab_to(t, v->peer, out), v->peer);
    if (!final && xfer_out_is_final(&v->out))
        segtab_log_final(t, v->seg, v->id, v->to);
    if (!fenced && xfer_out_is_fenced(&v->out)) {
        v->fenced_ms = t->service_ms;
        v->fenced_unit = tm.unit_now;
    }

    if (why != NULL)
        segtab_move_abort(t, v, why, out);
}

static void run(struct segtab *t, struct move *v, peer_no peer, struct outbox *out)
{
    struct xfer_time tm = segtab_move_time(t, v->seg);

    v->stage = MOVE_RUNNING;
    v->peer = peer;
    v->progress_ms = t->now.now_ms;
    log_info("move=%" PRIu64 " seg=%" PRIu64 ">%" PRIu64 " copying=%" PRIu32, v->id,
             v->from, v->to, v->seg->b.q.waiting);
    xfer_out_begin(&v->out, &v->seg->b, &tm, segtab_to(t, peer, out), peer);
}

static const char *refuse_out(const struct segtab *t, const struct msg_move_out *m)
{
    const struct seg *g = segtab_seg(t, m->from);

    if (g == NULL)
        return "the source is not here";
    if (!g->b.q.sealed)
        return "the source is open";
    if (g->b.q.hollow)
        return "the source is not whole";
    if (g->out != NULL || g->in != NULL)
        return "the source is in another move";
    return NULL;
}

static void start_out(struct segtab *t, struct move *v, const struct msg_move_out *m,
                      struct outbox *out)
{
    const char *name = m->peer_name != NULL ? m->peer_name : "";
    const struct peer *p = segtab_peer_named(t, name, RPC_SEGMENT);

    strncpy(v->peer_name, name, sizeof(v->peer_name) - 1);
    strncpy(v->peer_addr, m->peer_addr != NULL ? m->peer_addr : "",
            sizeof(v->peer_addr) - 1);
    tell_move(t, v, out);
    if (segtab_seg(t, m->to) != NULL)
        run(t, v, SEGTAB_SELF, out);
    else if (p != NULL)
        run(t, v, p->no, out);
}

void order_move_out(struct segtab *t, peer_no from, const struct msg_move_out *m,
                    struct outbox *out)
{
    struct move *v = segtab_move_find(t, m->move, MOVE_SIDE_OUT);
    struct spot s;
    const char *why;

    (void)from; /* answers go to the manager that is obeyed */
    if (v != NULL) {
        tell_move(t, v, out);
        return;
    }
    why = refuse_out(t, m);
    if (why == NULL) {
        v = move_new(t, m->move, m->from, m->to, MOVE_SIDE_OUT, segtab_seg(t, m->from));
        why = v == NULL ? "out of memory" : NULL;
    }
    if (v != NULL)
        start_out(t, v, m, out);
    else if (segtab_find(t, m->from, 0, &s) == SPOT_MOVED && s.moved_to == m->to)
        segtab_move_tell(t, m->move, m->from, m->to, MOVE_SIDE_OUT, MOVE_COMMITTED, 0, "",
                         out);
    else
        segtab_move_tell(t, m->move, m->from, m->to, MOVE_SIDE_OUT, MOVE_ABORTED, 0, why,
                         out);
}

static void copy_ack(struct segtab *t, peer_no from, const struct msg_copy_ack *m,
                     struct outbox *out)
{
    struct move *v = segtab_move_find(t, m->move, MOVE_SIDE_OUT);
    const char *why;

    if (v == NULL || v->peer != from)
        return; /* of a move that is over */
    v->progress_ms = t->now.now_ms;
    why = m->refused ? "the target refuses" : xfer_out_ack(&v->out, m->seq);
    if (why == NULL)
        pump(t, v, out);
    else if (!xfer_out_is_final(&v->out))
        segtab_move_abort(t, v, why, out);
}

/* ---- target ---------------------------------------------------------------------- */

static const char *refuse_in(const struct segtab *t, const struct msg_move_in *m)
{
    const struct seg *g = segtab_seg(t, m->to);
    const struct block_pool *p = &t->pool; /* may hold more than its bound: segtab_replayed() */
    uint64_t free = p->n_blocks < p->max_blocks ? p->max_blocks - p->n_blocks : 0;

    if (g == NULL)
        return "the target is not here";
    if (!g->b.q.sealed)
        return "the target is open";
    if (g->b.q.hollow)
        return "the target is not whole";
    if (g->out != NULL || g->in != NULL)
        return "the target is in another move";
    if (m->expect > free * BLOCK_SLOTS)
        return "no room";
    return NULL;
}

bool segtab_has_absorbed(const struct segtab *t, seg_id from, seg_id to)
{
    uint64_t v = map_get(&t->homes, from);
    const struct reloc *r = (const struct reloc *)(uintptr_t)(v & ~3ull);
    const struct seg *g = segtab_seg(t, to);

    return v != MAP_NONE && (v & 3) == HOME_RELOC && g != NULL && r->host == g;
}

void order_move_in(struct segtab *t, peer_no from, const struct msg_move_in *m,
                   struct outbox *out)
{
    struct move *v = segtab_move_find(t, m->move, MOVE_SIDE_IN);
    const char *why;

    (void)from;
    if (v != NULL) {
        tell_move(t, v, out);
        return;
    }
    if (segtab_has_absorbed(t, m->from, m->to)) {
        segtab_move_tell(t, m->move, m->from, m->to, MOVE_SIDE_IN, MOVE_COMMITTED, 0, "",
                         out);
        return;
    }
    why = refuse_in(t, m);
    if (why == NULL) {
        v = move_new(t, m->move, m->from, m->to, MOVE_SIDE_IN, segtab_seg(t, m->to));
        why = v == NULL ? "out of memory" : NULL;
    }
    if (v != NULL)
        tell_move(t, v, out);
    else
        segtab_move_tell(t, m->move, m->from, m->to, MOVE_SIDE_IN, MOVE_ABORTED, 0, why,
                         out);
}

static void ack(struct segtab *t, peer_no to, uint64_t move, uint32_t seq,
                const char *why, struct outbox *out)
{
    outbox_add(segtab_to(t, to, out), to, MSG_COPY_ACK)->copy_ack =
        (struct msg_copy_ack) { move, seq, why != NULL, why != NULL ? why : "" };
}

/* Its copy is whole: as soon as the directory has heard of it. */
static void ready(struct segtab *t, struct move *v, struct outbox *out)
{
    if (!segtab_dir_told(t, v))
        return;
    v->stage = MOVE_READY;
    tell_move(t, v, out);
}

void segtab_moves_heard(struct segtab *t, struct outbox *out)
{
    list_each (&t->moves, it) {
        struct move *v = container_of(it, struct move, node);

        if (v->side == MOVE_SIDE_IN && v->in.complete && v->stage == MOVE_RUNNING)
            ready(t, v, out);
    }
}

void segtab_copy(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out)
{
    struct move *v;
    const char *why;

    if (m->type == MSG_COPY_ACK) {
        copy_ack(t, from, &m->copy_ack, out);
        return;
    }
    v = segtab_move_find(t, m->move, MOVE_SIDE_IN);
    if (v == NULL || (m->type == MSG_COPY_BEGIN ? v->peer != 0 : v->peer != from)) {
        ack(t, from, m->move, 0, "no such move", out);
        return;
    }
    v->peer = from;
    v->progress_ms = t->now.now_ms;
    why = v->stage == MOVE_READY ? NULL : xfer_in_msg(&v->in, m, &v->seg->b);
    ack(t, from, v->id, v->in.seq, why, out);
    if (why != NULL) {
        segtab_move_abort(t, v, why, out);
    } else if (v->in.complete && v->stage != MOVE_READY) {
        v->whole_ms = t->now.now_ms;
        if (!segtab_dir_tell(t, v))
            segtab_move_abort(t, v, "the directory cannot be told", out);
        else
            ready(t, v, out);
    }
}

/* ---- time, links ----------------------------------------------------------------- */

static const char *stalled(const struct segtab *t, const struct move *v)
{
    msec_t idle = t->now.now_ms - v->progress_ms;

    if (v->side == MOVE_SIDE_IN && v->in.complete && v->stage == MOVE_RUNNING &&
        t->now.now_ms - v->whole_ms > DIR_TELL_MS)
        return "the directory does not answer";
    if (v->side == MOVE_SIDE_IN)
        return v->stage != MOVE_READY && idle > SEGTAB_IN_STALL_MS ? "nothing came"
                                                                   : NULL;
    if (v->stage == MOVE_RUNNING && xfer_out_is_final(&v->out))
        return NULL;
    return idle > SEGTAB_STALL_MS ? "no answer from the target" : NULL;
}

void segtab_moves_tick(struct segtab *t, struct outbox *out)
{
    list_each (&t->moves, it) {
        struct move *v = container_of(it, struct move, node);
        const char *why = stalled(t, v);

        if (why != NULL) {
            segtab_move_abort(t, v, why, out);
            continue;
        }
        if (t->now.now_ms - v->told_ms >= SEGTAB_BEAT_MS)
            tell_move(t, v, out);
        if (v->side == MOVE_SIDE_OUT && v->stage == MOVE_RUNNING && v->peer != 0)
            pump(t, v, out);
    }
}

static void peer_lost(struct segtab *t, struct move *v, struct outbox *out)
{
    v->peer = 0;
    if (v->side == MOVE_SIDE_IN ? v->stage != MOVE_READY : !xfer_out_is_final(&v->out))
        segtab_move_abort(t, v, "the link broke", out);
}

void segtab_moves_peer(struct segtab *t, const struct peer *p, bool up,
                       struct outbox *out)
{
    list_each (&t->moves, it) {
        struct move *v = container_of(it, struct move, node);

        if (!up && v->peer == p->no)
            peer_lost(t, v, out);
        else if (up && v->side == MOVE_SIDE_OUT && v->stage == MOVE_DIALLING &&
                 strcmp(v->peer_name, p->name) == 0)
            run(t, v, p->no, out);
    }
}

void segtab_moves_no_dial(struct segtab *t, const char *name, struct outbox *out)
{
    list_each (&t->moves, it) {
        struct move *v = container_of(it, struct move, node);

        if (v->side == MOVE_SIDE_OUT && v->stage == MOVE_DIALLING &&
            strcmp(v->peer_name, name) == 0)
            segtab_move_abort(t, v, "the target's node cannot be reached", out);
    }
}

size_t segtab_wanted(const struct segtab *t, struct segtab_want *v, size_t cap)
{
    size_t n = 0;

    for (struct list_node *it = list_first(&t->moves); it != NULL && n < cap;
         it = list_next(&t->moves, it)) {
        const struct move *m = container_of(it, struct move, node);

        if (m->side != MOVE_SIDE_OUT || m->peer == SEGTAB_SELF || m->peer_name[0] == 0)
            continue;
        memcpy(v[n].name, m->peer_name, sizeof(v[n].name));
        memcpy(v[n].addr, m->peer_addr, sizeof(v[n].addr));
        n++;
    }
    return segtab_dir_wanted(t, v, n, cap);
}
