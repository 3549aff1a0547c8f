/* move_unknown.c: a move that this manager does not know, but a node still does. */
#include "queuemng/chain/move_unknown.h"

#include <assert.h>

#include "common/base/log.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/chain/move_state.h"
#include "queuemng/state/absorbed.h"
#include "queuemng/state/alias.h"
#include "queuemng/state/changed.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "move"

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
        if (l->alias[i].from == y->id)
            y->mark_end = l->alias[i].mark_end;
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
