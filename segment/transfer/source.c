/* source.c: the source's side of a move. */
#include "segment/transfer/source.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "segment/core/location.h"
#include "segment/core/recording.h"
#include "segment/core/state.h"
#include "segment/transfer/move.h"

#define LOG_MODULE "move"

void source_pump(struct segtab *t, struct move *v, struct outbox *out)
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

void source_run(struct segtab *t, struct move *v, peer_no peer, struct outbox *out)
{
    struct xfer_time tm = segtab_move_time(t, v->seg);
    const struct peer *to = segtab_peer(t, peer); /* NULL: ourselves */
    const char *why;

    v->out.older = to != NULL && to->older;
    why = xfer_out_loses(&v->out, &v->seg->b);
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

void source_ack(struct segtab *t, peer_no from, const struct msg_copy_ack *m,
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
