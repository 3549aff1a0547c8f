/* move.c: plans moves and takes their steps. */
#include "queuemng/chain/move.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/chain/move_state.h"
#include "queuemng/state/node.h"
#include "queuemng/chain/reconcile.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define MNG_NODE_MOVES     4   /* at one node at a time */
#define MOVE_AGAIN_MS      200 /* pause behind a move that a node has given up; twice as long */
#define MOVE_AGAIN_DOUBLED 7   /* behind each further one, so often: 26 s at most */
#define LOG_MODULE "move"

static struct mmove *move_start(struct mng *m, struct mseg *from, struct mseg *to)
{
    struct mmove *v = calloc(1, sizeof(*v));

    assert(from != to && from->lane == to->lane);
    assert(from->move == NULL && to->move == NULL);
    if (v == NULL)
        return NULL;
    v->id = move_next_id(m);
    m->next_move++;
    v->from = from;
    v->to = to;
    v->from_id = from->id;
    v->to_id = to->id;
    v->from_node = from->node;
    v->to_node = to->node;
    v->from_node->moves++;
    v->to_node->moves++;
    from->move = to->move = v;
    v->progress_ms = m->now_ms;
    list_push_back(&m->moves, &v->in);
    m->count.moves_started++;
    log_info("event=move_state move=%llu from=%llu to=%llu state=planned tickets=%u",
             (unsigned long long)v->id, (unsigned long long)v->from_id,
             (unsigned long long)v->to_id, from->st.waiting);
    move_say(m, v);
    return v;
}

/* Sealed, heard of, reachable, and in no other move. */
static bool may_move(const struct mng *m, const struct mseg *s)
{
    return m->now_ms >= s->move_ms && seg_is_reported(s) && s->state == SEG_SEALED &&
           s->st.state == SEG_SEALED && s->move == NULL && s->st.move == 0 && !s->missing_source &&
           !seg_is_rebuilding(s) &&
           !s->want_remove && seg_reachable(s) && s->node->moves < MNG_NODE_MOVES;
}

static bool worth_merging(const struct mlane *l, const struct mseg *x, const struct mseg *y)
{
    uint64_t both = (uint64_t)x->st.waiting + y->st.waiting;

    if (x->st.waiting == 0 || y->st.waiting == 0 || both > x->capacity)
        return false;
    /* released within seconds anyway: a copy would only be in the way */
    return !node_is_closed(x->node) &&
           (double)y->ahead + y->st.waiting > 5.0 * l->release_per_s;
}

/* Passes over neighbours once; a segment takes part in a single move at a time. */
void moves_plan(struct mng *m, struct mlane *l)
{
    if (!l->q->def.merge)
        return;
    each_seg(l, x) {
        struct mseg *y = list_seg(list_next(&l->segs, &x->in_lane));

        if (y != NULL && may_move(m, x) && !seg_is_undrawn(x) && may_move(m, y) && !y->pre.early &&
            worth_merging(l, x, y))
            (void)move_start(m, y, x);
    }
}

/* A fresh target directly before y, on another node. */
static void migrate(struct mng *m, struct mseg *y)
{
    struct mnode *n = place_pick(m, y, y->node, 0);
    struct mseg *x;

    if (n == NULL || n->moves >= MNG_NODE_MOVES)
        return;
    x = seg_new(m, y->lane, n, seg_id_take(m), y->capacity, OPEN_TARGET, y);
    if (x == NULL)
        return;
    x->ahead = y->ahead;
    x->want_next = y->st.next;
    queue_chain_changed(m, y->lane->q);
    m->count.opened++;
    lane_touch(m, y->lane);
    seg_todo(m, x);
    seg_reconcile(m, x);
    (void)move_start(m, y, x);
}

void moves_drain(struct mng *m, struct mnode *n)
{
    each_node_seg(n, s) {
        if (s->state == SEG_OPEN && !s->want_seal) {
            lane_touch(m, s->lane); /* the lane opens another and seals this one */
        } else if (may_move(m, s) && !s->pre.early &&
                   s->st.waiting + s->st.returning + s->st.records != 0) {
            if (n->moves >= MNG_NODE_MOVES)
                return;
            migrate(m, s);
        }
    }
}

/* ---- a drain, as operators see it ---------------------------------------------------- */

/* NULL: nothing of its own keeps it there. */
static const char *keeps(const struct mseg *s)
{
    if (!seg_reachable(s))
        return "its node does not answer";
    if (s->pre.early)
        return "it waits for the draw of places";
    return seg_is_rebuilding(s) ? "its people are still coming back" : NULL;
}

static void drain_stays(struct drain_state *d, const struct mseg *s, const char *why)
{
    d->seg = s->id;
    d->why = why;
}

/* held: by its move, which was given up; kept: by itself; any: one of those that stay. */
static void drain_why(const struct mng *m, const struct mnode *n, const struct mseg *held, const struct mseg *kept,
                      const struct mseg *any, struct drain_state *d)
{
    bool later = held != NULL && held->move_ms > m->now_ms;

    if (!later && any != NULL && place_pick(m, NULL, n, 0) == NULL)
        drain_stays(d, any, "no other node has room");
    else if (!later && kept != NULL)
        drain_stays(d, kept, keeps(kept));
    else if (held != NULL)
        drain_stays(d, held, held->move_why);
    d->again_ms = later ? held->move_ms - m->now_ms : -1;
}

void moves_drain_state(const struct mng *m, const struct mnode *n, struct drain_state *d)
{
    const struct mseg *held = NULL, *kept = NULL, *any = NULL;

    *d = (struct drain_state){ .why = "" };
    each_node_seg(n, s) {
        if (s->state != SEG_OPEN && s->st.waiting + s->st.returning + s->st.records == 0)
            continue;
        d->left++;
        d->moving += s->move != NULL;
        if (s->move != NULL)
            continue;
        any = s;
        if (s->move_why[0] != 0 && (held == NULL || s->move_ms > held->move_ms))
            held = s;
        if (keeps(s) != NULL)
            kept = s;
    }
    drain_why(m, n, held, kept, any, d);
}

static void move_abort(struct mng *m, struct mmove *v, const char *why)
{
    log_warn("event=move_aborted move=%llu why=%s", (unsigned long long)v->id,
             log_q(why, strlen(why)));
    m->count.moves_aborted++;
    if (v->from != NULL)
        copy_text(v->from->move_why, sizeof(v->from->move_why), why);
    if (v->state == MOVE_PLANNED)
        v->from_done = true; /* has heard nothing of it */
    move_set(m, v, MOVE_ABORTING);
    move_say(m, v);
}

/* Too long for a move, no room at the target: so it will be for a while, and each try costs a copy. */
static void given_up(struct mng *m, struct mmove *v, const char *why)
{
    struct mseg *s = v->from;

    if (s != NULL) {
        s->move_ms = m->now_ms + (MOVE_AGAIN_MS << s->moves_given_up);
        s->moves_given_up += s->moves_given_up < MOVE_AGAIN_DOUBLED;
    }
    move_abort(m, v, why);
}

static void abort_over(struct mng *m, struct mmove *v)
{
    if (v->from_done && v->to_done)
        move_free(m, v);
}

/* The source is frozen and the target has all of it: from here there is only forward. */
static void move_commit(struct mng *m, struct mmove *v, uint32_t tickets)
{
    struct mlane *l = v->from->lane;

    struct malias a = { .from = v->from_id,
                        .to = v->to_id,
                        .capacity = v->from->kind == OPEN_TARGET ? 0 : v->from->capacity,
                        .base = v->from->base,
                        .mark_end = v->from->mark_end };

    assert(v->state == MOVE_COPY && v->to->lane == l);
    if (alias_add(l, a) < 0) {
        move_abort(m, v, "out of memory");
        return;
    }
    v->tickets = tickets;
    move_set(m, v, MOVE_COMMITTING);
    queue_chain_changed(m, l->q);
    move_say(m, v); /* sent after the store has it */
}

/* The target holds them: from now on they are counted, shown and released there. */
static void move_committed(struct mng *m, struct mmove *v)
{
    struct mseg *y = v->from;
    struct mlane *l = v->to->lane;

    assert(alias_of(l, v->from_id) == v->to_id);
    move_set(m, v, MOVE_CLEARING);
    m->count.moves_committed++;
    v->to->st.waiting += v->tickets; /* until its next report says it itself */
    alias_fold(l, v->from_id, v->to_id);
    seg_set_heard(m, v->to);
    if (y != NULL) {
        v->to->st.returning += y->st.returning;
        v->to->st.ready += y->st.ready;
        v->to->st.active += y->st.active;
        v->to->st.records += y->st.records;
        y->move = NULL;
        v->from = NULL;
        y->st.waiting = 0;
        seg_unlink(m, y);
    }
    seg_used(v->to);
    queue_mapped(m, l->q);
    lane_touch(m, l);
    move_say(m, v);
}

/* The target went, or was restarted, before it said that it has them, and nobody was sent
 * there: the source still has them all. */
static void move_uncommit(struct mng *m, struct mmove *v, const char *why)
{
    log_error("event=move_undone move=%llu to=%llu", (unsigned long long)v->id,
              (unsigned long long)v->to_id);
    if (v->from != NULL) {
        alias_drop(v->from->lane, v->from_id);
        if (v->to != NULL)
            seg_check_absorbed(v->to);
        queue_chain_changed(m, v->from->lane->q);
        queue_mapped(m, v->from->lane->q);
        if (v->from->absent) /* then it was not merged within its node */
            seg_lost(m, v->from);
    }
    v->to_done = true;
    given_up(m, v, why);
}

static void report_in(struct mng *m, struct mmove *v, const struct msg_move_status *g)
{
    if (g->report == MOVE_ACCEPTED && v->state == MOVE_PLANNED) {
        move_set(m, v, MOVE_COPY);
        move_say(m, v);
    } else if (g->report == MOVE_FENCED && v->state == MOVE_COPY) {
        if (v->from != NULL && v->to != NULL)
            move_commit(m, v, g->tickets);
        else
            move_abort(m, v, "segment gone");
    } else if (g->report == MOVE_COMMITTED && v->state == MOVE_COMMITTING) {
        if (v->to != NULL)
            move_committed(m, v);
    } else if (g->report == MOVE_ABORTED) {
        v->to_done = true;
        if (v->state == MOVE_PLANNED || v->state == MOVE_COPY)
            given_up(m, v, g->why);
        else if (v->state == MOVE_COMMITTING)
            move_uncommit(m, v, g->why); /* restarted: the copy is gone */
        if (v->state == MOVE_ABORTING)
            abort_over(m, v);
    }
}

/* A target that aborted while it could not tell us has nothing of the move; its source may
 * have sent all, and then waits for us alone. */
static bool target_takes_part(const struct mmove *v)
{
    return v->to != NULL && v->to->st.move == v->id;
}

static void report_out(struct mng *m, struct mmove *v, const struct msg_move_status *g)
{
    if (g->report == MOVE_COPYING) {
        if (v->state != MOVE_COPY)
            return; /* unaware of how the move ended: said again when due */
        if (target_takes_part(v))
            v->progress_ms = m->now_ms;
        v->sent_ms = m->now_ms;
        v->tickets = g->tickets;
    } else if (g->report == MOVE_COMMITTED && v->state == MOVE_CLEARING) {
        move_free(m, v);
    } else if (g->report == MOVE_ABORTED) {
        v->from_done = true;
        if (v->state == MOVE_COPY)
            given_up(m, v, g->why);
        if (v->state == MOVE_ABORTING)
            abort_over(m, v);
    }
}

void on_move_status(struct mng *m, struct mnode *n, const struct msg_move_status *g)
{
    struct mmove *v = move_find(m, g->move);

    if (g->epoch != m->epoch)
        return;
    if (v == NULL) { /* over for us: let it be over there */
        if (g->report == MOVE_COMMITTED && g->side == MOVE_SIDE_IN &&
            seg_find(m, g->to) != NULL)
            seg_set_heard(m, seg_find(m, g->to));
        if (g->report != MOVE_ABORTED && g->report != MOVE_COMMITTED)
            move_unknown_end(m, n, g);
        return;
    }
    if (g->side == MOVE_SIDE_IN && n == v->to_node)
        report_in(m, v, g);
    else if (g->side == MOVE_SIDE_OUT && n == v->from_node)
        report_out(m, v, g);
}

/* A segment that is gone, or that its node has not opened yet, has nothing to forget. */
static bool nothing_there(const struct mseg *s)
{
    return s == NULL || seg_is_lost(s) || !seg_is_announced(s);
}

static void move_tick(struct mng *m, struct mmove *v)
{
    bool early = v->state == MOVE_PLANNED || v->state == MOVE_COPY;
    bool ends = v->from != NULL && v->to != NULL;

    if (early && (!ends || seg_is_lost(v->to) || seg_is_lost(v->from))) {
        move_abort(m, v, "segment gone");
    } else if (early && m->now_ms - v->progress_ms > MNG_MOVE_IDLE_MS) {
        move_abort(m, v, "no progress");
    } else if (v->state == MOVE_COMMITTING &&
               (v->to == NULL || seg_is_lost(v->to))) {
        move_uncommit(m, v, "the target is lost");
    }
    if (v->state == MOVE_ABORTING) {
        v->from_done |= nothing_there(v->from) || v->from_node->given_up;
        v->to_done |= nothing_there(v->to) || v->to_node->given_up;
        if (v->from_done && v->to_done) {
            move_free(m, v);
            return;
        }
    }
    if (v->state == MOVE_CLEARING && v->from_node->given_up) {
        move_free(m, v);
        return;
    }
    if (m->now_ms - v->sent_ms >= MNG_AGAIN_MS)
        move_say(m, v);
}

void moves_tick(struct mng *m)
{
    each_move(m, v)
        move_tick(m, v);
}

void moves_node_down(struct mng *m, struct mnode *n)
{
    each_move(m, v) {
        bool in_it = v->from_node == n || v->to_node == n;

        if (in_it && (v->state == MOVE_PLANNED || v->state == MOVE_COPY))
            move_abort(m, v, "node down");
    }
}
