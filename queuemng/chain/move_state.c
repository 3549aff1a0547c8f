/* move_state.c: the states of a move, and the orders that each repeats. */
#include "queuemng/chain/move_state.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "move"
#define TO(s) (1u << (s))

static const unsigned move_next[MOVE_NSTATES] = {
    [MOVE_PLANNED] = TO(MOVE_COPY) | TO(MOVE_ABORTING),
    [MOVE_COPY] = TO(MOVE_COMMITTING) | TO(MOVE_ABORTING),
    [MOVE_COMMITTING] = TO(MOVE_CLEARING) | TO(MOVE_ABORTING),
};

const char *move_state_name(enum move_state s)
{
    static const char *const names[] = { "planned", "copying", "committing", "clearing",
                                         "aborting" };

    assert(s < MOVE_NSTATES);
    return names[s];
}

void move_set(struct mng *m, struct mmove *v, enum move_state to)
{
    assert(move_next[v->state] & TO(to));
    log_info("event=move_state move=%llu from=%llu to=%llu state=%s>%s",
             (unsigned long long)v->id, (unsigned long long)v->from_id,
             (unsigned long long)v->to_id, move_state_name(v->state), move_state_name(to));
    v->state = to;
    v->progress_ms = m->now_ms;
    v->sent_ms = 0;
}

struct mmove *move_find(const struct mng *m, uint64_t id)
{
    each_move(m, v)
        if (v->id == id)
            return v;
    return NULL;
}

/* A fresh target that its node never opened is not tried on: the next move makes its own.
 * If it is opened after all, it is nobody's and forgotten. */
static void target_forget(struct mng *m, struct mseg *x)
{
    if (x->kind != OPEN_TARGET || seg_is_announced(x))
        return;
    queue_chain_changed(m, x->lane->q);
    seg_unlink(m, x);
}

void move_free(struct mng *m, struct mmove *v)
{
    if (v->from != NULL) {
        v->from->move = NULL;
        lane_touch(m, v->from->lane);
    }
    if (v->to != NULL) {
        v->to->move = NULL;
        lane_touch(m, v->to->lane);
        target_forget(m, v->to);
    }
    assert(v->from_node->moves > 0 && v->to_node->moves > 0);
    v->from_node->moves--;
    v->to_node->moves--;
    list_remove(&m->moves, &v->in);
    free(v);
}

static void order_in(struct mng *m, const struct mmove *v)
{
    assert(v->state == MOVE_PLANNED && v->from != NULL);
    struct msg_move_in *o = &mng_to(m, v->to_node->peer, MSG_MOVE_IN)->move_in;

    o->epoch = m->epoch;
    o->move = v->id;
    o->from = v->from_id;
    o->to = v->to_id;
    o->expect = v->from->st.waiting;
}

static void order_out(struct mng *m, const struct mmove *v)
{
    struct msg_move_out *o = &mng_to(m, v->from_node->peer, MSG_MOVE_OUT)->move_out;

    o->epoch = m->epoch;
    o->move = v->id;
    o->from = v->from_id;
    o->to = v->to_id;
    o->peer_name = arena_strdup(&m->out->box.mem, v->to_node->name);
    o->peer_addr = arena_strdup(&m->out->box.mem, v->to_node->addr);
}

/* Commit or abort, for one node. */
static void order_end(struct mng *m, const struct mnode *n, uint64_t id, seg_id from, seg_id to,
                      bool commit)
{
    struct msg_move_end *o = &mng_to(m, n->peer, MSG_MOVE_END)->move_end;

    o->epoch = m->epoch;
    o->move = id;
    o->from = from;
    o->to = to;
    o->commit = commit;
}

void move_say(struct mng *m, struct mmove *v)
{
    bool to_up = v->to_node->registered, from_up = v->from_node->registered;

    v->sent_ms = m->now_ms;
    switch (v->state) {
    case MOVE_PLANNED:
        if (to_up && seg_is_announced(v->to))
            order_in(m, v);
        break;
    case MOVE_COPY:
        if (from_up)
            order_out(m, v);
        break;
    case MOVE_COMMITTING:
        if (to_up)
            order_end(m, v->to_node, v->id, v->from_id, v->to_id, true);
        break;
    case MOVE_CLEARING:
        if (from_up)
            order_end(m, v->from_node, v->id, v->from_id, v->to_id, true);
        break;
    case MOVE_ABORTING:
        if (to_up && !v->to_done)
            order_end(m, v->to_node, v->id, v->from_id, v->to_id, false);
        if (from_up && !v->from_done)
            order_end(m, v->from_node, v->id, v->from_id, v->to_id, false);
        break;
    case MOVE_NSTATES:
        break;
    }
}

/* ---- moves that a node knows, and this manager does not -------------------------- */

/* The alias is the commit. The target may have moved on meanwhile; then both lead to the
 * same place. */
static bool was_committed(const struct mlane *l, seg_id from, seg_id to)
{
    seg_id a = l != NULL ? alias_of(l, from) : 0;

    return a != 0 && (a == to || a == alias_of(l, to));
}

/* Has the target of a committed move of an earlier manager heard of the commit? Until it has,
 * the source keeps its tickets. */
enum heard { HEARD, HEARD_NOT_YET, HEARD_NEVER };

static enum heard has_heard(const struct mng *m, const struct mlane *l, seg_id from)
{
    const struct mseg *x = seg_find(m, alias_of(l, from));

    if (x == NULL || seg_is_lost(x))
        return HEARD;
    if (!seg_is_reported(x) || seg_in_unknown_move(x))
        return HEARD_NOT_YET;
    /* True: its node was restarted with the copy, but before the commit: both say so. */
    return seg_has_absorbed(x, from) ? HEARD : HEARD_NEVER;
}

/* A source says how far it is; its alias is not ours to end but by what it reports. */
void move_unknown_end(struct mng *m, const struct mnode *n,
                        const struct msg_move_status *g)
{
    const struct mlane *to = lane_of(m, g->to), *l = to != NULL ? to : lane_of(m, g->from);
    bool commit = was_committed(l, g->from, g->to);

    if (commit && g->side == MOVE_SIDE_OUT && has_heard(m, l, g->from) != HEARD)
        return; /* said again later */
    order_end(m, n, g->move, g->from, g->to, commit);
}

/* Segments whose aliases lead to x, and that x does not have, came by way of this source: it is
 * back in the chain, behind x, where it has always been. */
static void revive(struct mng *m, struct mnode *n, struct mlane *l,
                   const struct seg_status *st)
{
    struct mseg *x = seg_find(m, alias_of(l, st->seg));
    uint8_t kind = st->joined == 0 ? OPEN_TARGET : OPEN_TAIL;
    struct mseg *y = seg_new(m, l, n, st->seg, st->capacity, kind,
                             list_seg(list_next(&l->segs, &x->in_lane)));

    assert(x != NULL && x->lane == l);
    if (y == NULL)
        return; /* said again later */
    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].from == y->id) {
            y->mark_end = l->alias[i].mark_end;
            y->base = l->alias[i].base;
        }
    log_error("event=move_undone move=%llu from=%llu to=%llu", (unsigned long long)st->move,
              (unsigned long long)y->id, (unsigned long long)x->id);
    alias_drop(l, y->id);
    for (uint32_t i = 0; i < l->n_alias; i++) {
        if (l->alias[i].to != x->id || seg_has_absorbed(x, l->alias[i].from))
            continue;
        l->alias[i].to = y->id;
        seg_add_absorbed(m, y, l->alias[i].from);
    }
    seg_check_absorbed(x);
    y->state = SEG_SEALED;
    seg_set_phase(y, SEG_STORED);
    y->seen = true;
    seg_status(m, y, st);
    queue_chain_changed(m, l->q);
    queue_mapped(m, l->q);
    order_end(m, n, st->move, y->id, x->id, false);
}

/* A segment takes part in a move of an earlier manager, or of one that was aborted while
 * its node was away. If it is the source of a committed one, an alias says so. All else
 * is decided by the MOVE_STATUS that its node repeats: only that names both ends. */
void move_unknown(struct mng *m, struct mnode *n, const struct seg_status *st)
{
    struct mqueue *q = queue_by_id(m, st->queue);
    enum heard h;
    seg_id to;

    if (move_find(m, st->move) != NULL)
        return; /* is being dealt with */
    if (q == NULL || st->lane >= LANES_MAX) {
        order_end(m, n, st->move, st->seg, 0, false);
        return;
    }
    to = alias_of(&q->lane[st->lane], st->seg);
    if (to == 0)
        return;
    h = has_heard(m, &q->lane[st->lane], st->seg);
    if (h == HEARD)
        order_end(m, n, st->move, st->seg, to, true);
    else if (h == HEARD_NEVER && seg_find(m, st->seg) == NULL)
        revive(m, n, &q->lane[st->lane], st);
}
