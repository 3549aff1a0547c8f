/* moves.c: all moves of this node. */
#include "segment/transfer/moves.h"

#include <string.h>

#include "segment/core/state.h"
#include "segment/transfer/move.h"
#include "segment/transfer/source.h"
#include "segment/transfer/target.h"

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
