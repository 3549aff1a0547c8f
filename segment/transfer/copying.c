/* copying.c: the moves of this node, from their orders until only MOVE_END decides. */
#include "segment/transfer/copying.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "segment/core/location.h"
#include "segment/core/recording.h"
#include "segment/core/state.h"
#include "segment/directory/exchange.h"
#include "segment/transfer/move.h"

#define LOG_MODULE "move"

/* ---- the source ----------------------------------------------------------------------- */

static void source_pump(struct segtab *t, struct move *v, struct outbox *out)
{
    struct xfer_time tm = segtab_move_time(t, v->seg);
    bool fenced = xfer_out_is_fenced(&v->out), final = xfer_out_is_final(&v->out);
    const char *why;

    assert(v->stage == STAGE_COPYING && v->peer != 0);
    if (t->hold)
        return;
    v->out.ahead = v->seg->ahead; /* perhaps lower than when the copy began */
    v->out.waits = v->seg->unstored.n > 0; /* the fence: what is released stays here till then */
    why = xfer_out_pump(&v->out, &v->seg->b, &tm, segtab_to(t, v->peer, out), v->peer);
    if (!final && xfer_out_is_final(&v->out))
        segtab_log_final(t, v->seg, v->id, v->to);
    if (!fenced && xfer_out_is_fenced(&v->out)) {
        t->replica.now = true;
        v->fenced_ms = t->service_ms;
        v->fenced_ahead = v->seg->ahead;
        v->fenced_unit = tm.unit_now;
    }
    if (why != NULL)
        segtab_move_abort(t, v, why, out);
}

static void source_run(struct segtab *t, struct move *v, peer_no peer, struct outbox *out)
{
    struct xfer_time tm = segtab_move_time(t, v->seg);
    const char *why = xfer_out_unfit(&v->seg->b);

    if (why != NULL) {
        segtab_move_abort(t, v, why, out);
        return;
    }
    move_step(v, STAGE_COPYING);
    v->peer = peer;
    v->progress_ms = t->now.now_ms;
    log_info("event=move_copying move=%" PRIu64 " from=%" PRIu64 " to=%" PRIu64
             " waiting=%" PRIu32,
             v->id, v->from, v->to, v->seg->b.q.waiting);
    xfer_out_begin(&v->out, &v->seg->b, &tm, segtab_to(t, peer, out), peer);
}

static const char *refuse_out(const struct segtab *t, const struct msg_move_out *m)
{
    const struct seg *g = segtab_seg(t, m->from);

    if (g == NULL)
        return "the source is not here";
    if (!g->b.q.sealed)
        return "the source is open";
    if (g->b.q.rebuilding)
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
    segtab_move_report(t, v, out);
    if (segtab_seg(t, m->to) != NULL)
        source_run(t, v, SEGTAB_SELF, out);
    else if (p != NULL)
        source_run(t, v, p->no, out);
}

void order_move_out(struct segtab *t, peer_no from, const struct msg_move_out *m,
                    struct outbox *out)
{
    struct move *v = segtab_move_find(t, m->move, MOVE_SIDE_OUT);
    struct location s;
    const char *why;

    (void)from; /* answers go to the manager that is obeyed */
    if (v != NULL) {
        segtab_move_report(t, v, out);
        return;
    }
    why = refuse_out(t, m);
    if (why == NULL) {
        v = move_new(t, m->move, m->from, m->to, MOVE_SIDE_OUT, segtab_seg(t, m->from));
        why = v == NULL ? "out of memory" : NULL;
    }
    if (v != NULL)
        start_out(t, v, m, out);
    else if (segtab_find(t, m->from, 0, &s) == FOUND_MOVED && s.moved_to == m->to)
        segtab_move_tell(t, m->move, m->from, m->to, MOVE_SIDE_OUT, MOVE_COMMITTED, 0, "",
                         out);
    else
        segtab_move_tell(t, m->move, m->from, m->to, MOVE_SIDE_OUT, MOVE_ABORTED, 0, why,
                         out);
}

static void source_ack(struct segtab *t, peer_no from, const struct msg_copy_ack *m,
                       struct outbox *out)
{
    struct move *v = segtab_move_find(t, m->move, MOVE_SIDE_OUT);
    const char *why;

    if (v == NULL || v->peer != from)
        return; /* a move that is over */
    v->progress_ms = t->now.now_ms;
    why = m->refused ? "the target refuses" : xfer_out_ack(&v->out, m->seq);
    if (why == NULL)
        source_pump(t, v, out);
    else if (!xfer_out_is_final(&v->out))
        segtab_move_abort(t, v, why, out);
}

/* ---- the target ----------------------------------------------------------------------- */

static const char *refuse_in(const struct segtab *t, const struct msg_move_in *m)
{
    const struct seg *g = segtab_seg(t, m->to);
    const struct block_pool *p = &t->pool; /* may hold more than its bound: segtab_replayed() */
    uint64_t free = p->n_blocks < p->max_blocks ? p->max_blocks - p->n_blocks : 0;

    if (g == NULL)
        return "the target is not here";
    if (!g->b.q.sealed)
        return "the target is open";
    if (g->b.q.rebuilding)
        return "the target is not whole";
    if (g->out != NULL || g->in != NULL)
        return "the target is in another move";
    if (m->expect > free * BLOCK_SLOTS)
        return "no room";
    return NULL;
}

void order_move_in(struct segtab *t, peer_no from, const struct msg_move_in *m,
                   struct outbox *out)
{
    struct move *v = segtab_move_find(t, m->move, MOVE_SIDE_IN);
    const char *why;

    (void)from;
    if (v != NULL) {
        segtab_move_report(t, v, out);
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
        segtab_move_report(t, v, out);
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

/* Commits a whole copy, as soon as the directory has heard of it. */
static void ready(struct segtab *t, struct move *v, struct outbox *out)
{
    if (!segtab_dir_told(t, v))
        return;
    move_step(v, STAGE_READY);
    segtab_move_report(t, v, out);
}

void segtab_moves_heard(struct segtab *t, struct outbox *out)
{
    each_move (t, v) {
        if (v->stage == STAGE_WHOLE)
            ready(t, v, out);
    }
}

static void target_copy(struct segtab *t, peer_no from, const struct msg *m,
                        struct outbox *out)
{
    struct move *v = segtab_move_find(t, m->move, MOVE_SIDE_IN);
    const char *why;

    if (v == NULL || (m->type == MSG_COPY_BEGIN ? v->peer != 0 : v->peer != from)) {
        ack(t, from, m->move, 0, "no such move", out);
        return;
    }
    v->peer = from;
    v->progress_ms = t->now.now_ms;
    why = v->stage == STAGE_READY ? NULL : xfer_in_msg(&v->in, m, &v->seg->b);
    ack(t, from, v->id, v->in.seq, why, out);
    if (why != NULL) {
        segtab_move_abort(t, v, why, out);
    } else if (v->in.complete && v->stage != STAGE_READY) {
        if (v->stage == STAGE_RECEIVING)
            move_step(v, STAGE_WHOLE);
        v->whole_ms = t->now.now_ms;
        if (!segtab_dir_tell(t, v))
            segtab_move_abort(t, v, "the directory cannot be told", out);
        else
            ready(t, v, out);
    }
}

/* ---- both ------------------------------------------------------------------------------ */

void segtab_copy(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out)
{
    if (m->type == MSG_COPY_ACK)
        source_ack(t, from, &m->copy_ack, out);
    else
        target_copy(t, from, m, out);
}

/* ---- time, links ------------------------------------------------------------------ */

static const char *stalled(const struct segtab *t, const struct move *v)
{
    msec_t idle = t->now.now_ms - v->progress_ms;

    if (v->stage == STAGE_WHOLE && t->now.now_ms - v->whole_ms > DIR_TELL_MS)
        return "the directory does not answer";
    if (v->side == MOVE_SIDE_IN)
        return v->stage != STAGE_READY && idle > SEGTAB_IN_STALL_MS ? "nothing came"
                                                                   : NULL;
    if (v->stage == STAGE_COPYING && xfer_out_is_final(&v->out))
        return NULL;
    return idle > SEGTAB_STALL_MS ? "no answer from the target" : NULL;
}

void segtab_moves_tick(struct segtab *t, struct outbox *out)
{
    t->absorbed = 0;
    each_move (t, v) {
        const char *why = stalled(t, v);

        if (why != NULL) {
            segtab_move_abort(t, v, why, out);
            continue;
        }
        if (t->now.now_ms - v->told_ms >= SEGTAB_BEAT_MS)
            segtab_move_report(t, v, out);
        if (v->stage == STAGE_COPYING && v->peer != 0)
            source_pump(t, v, out);
    }
}

static void peer_lost(struct segtab *t, struct move *v, struct outbox *out)
{
    v->peer = 0;
    if (v->side == MOVE_SIDE_IN ? v->stage != STAGE_READY : !xfer_out_is_final(&v->out))
        segtab_move_abort(t, v, "the link broke", out);
}

void segtab_moves_peer(struct segtab *t, const struct peer *p, bool up,
                       struct outbox *out)
{
    each_move (t, v) {
        if (!up && v->peer == p->no)
            peer_lost(t, v, out);
        else if (up && v->stage == STAGE_DIALLING && strcmp(v->peer_name, p->name) == 0)
            source_run(t, v, p->no, out);
    }
}

void segtab_moves_no_dial(struct segtab *t, const char *name, struct outbox *out)
{
    each_move (t, v) {
        if (v->stage == STAGE_DIALLING && strcmp(v->peer_name, name) == 0)
            segtab_move_abort(t, v, "the target's node cannot be reached", out);
    }
}

size_t segtab_moves_wanted(const struct segtab *t, struct node_want *v, size_t cap)
{
    size_t n = 0;

    each_move (t, m) {
        if (n == cap)
            break;
        if (m->side != MOVE_SIDE_OUT || m->peer == SEGTAB_SELF || m->peer_name[0] == 0)
            continue;
        memcpy(v[n].name, m->peer_name, sizeof(v[n].name));
        memcpy(v[n].addr, m->peer_addr, sizeof(v[n].addr));
        n++;
    }
    return n;
}
