/* target.c: the target's side of a move. */
#include "segment/transfer/target.h"

#include "segment/core/location.h"
#include "segment/core/state.h"
#include "segment/directory/say.h"
#include "segment/transfer/move.h"

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

void target_copy(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out)
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
