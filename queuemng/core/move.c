/* move.c: merges, migrations and drains: the manager's side of PROTOCOL.md section 6.
 *
 *   PLANNED --accepted--> COPY --fenced--> COMMITTING --committed--> CLEARING --> over
 *      |                    |    (alias durable)      (routers know)
 *      '---- refused, timeout, a node gone ---> ABORTING --> over
 *
 * The commit is the moment in which the alias is stored. Before it everything aborts to
 * "nothing happened"; after it everything goes forward, however long it takes. The source
 * is told last, when the target is known to have the tickets; so if the target is lost
 * before that, or its node came back without the copy, the alias is taken back and the
 * source goes on as if nothing had been. */
#include "queuemng/core/mng_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

#define LOG_MODULE "move"

#define list_seg(it)  list_entry(it, struct mseg, in_lane)
#define list_move(it) list_entry(it, struct mmove, in)
#define TO(s)         (1u << (s))

static const unsigned move_next[MOVE_NSTATES] = {
    [MOVE_PLANNED] = TO(MOVE_COPY) | TO(MOVE_ABORTING),
    [MOVE_COPY] = TO(MOVE_COMMITTING) | TO(MOVE_ABORTING),
    [MOVE_COMMITTING] = TO(MOVE_CLEARING) | TO(MOVE_ABORTING),
};

const char *move_state_name(enum move_state s)
{
    static const char *const names[] = { "planned", "copying", "committing", "clearing",
                                         "aborting" };

    return names[s];
}

static void move_set(struct mng *m, struct mmove *v, enum move_state to)
{
    assert(move_next[v->state] & TO(to));
    log_info("event=move move=%llu from=%llu to=%llu state=%s>%s",
             (unsigned long long)v->id, (unsigned long long)v->from_id,
             (unsigned long long)v->to_id, move_state_name(v->state), move_state_name(to));
    v->state = to;
    v->progress_ms = m->now_ms;
    v->sent_ms = 0;
}

static struct mmove *move_find(const struct mng *m, uint64_t id)
{
    list_each(&m->moves, it)
        if (list_move(it)->id == id)
            return list_move(it);
    return NULL;
}

/* A fresh target that its node never opened is not tried on: the next move makes its own.
 * If it is opened after all, it is nobody's and forgotten. */
static void target_forget(struct mng *m, struct mseg *x)
{
    if (x->kind != OPEN_TARGET || x->confirmed)
        return;
    queue_keep(m, x->lane->q, false);
    seg_unlink(m, x);
}

static void move_free(struct mng *m, struct mmove *v)
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
    v->from_node->moves--;
    v->to_node->moves--;
    list_remove(&m->moves, &v->in);
    free(v);
}

/* ---- orders ---------------------------------------------------------------------- */

static void order_in(struct mng *m, const struct mmove *v)
{
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

static void order_end(struct mng *m, const struct mnode *n, uint64_t id, seg_id from,
                      seg_id to, bool commit)
{
    struct msg_move_end *o = &mng_to(m, n->peer, MSG_MOVE_END)->move_end;

    o->epoch = m->epoch;
    o->move = id;
    o->from = from;
    o->to = to;
    o->commit = commit;
}

/* What this state wants to be heard, again and again until it is answered. */
static void move_say(struct mng *m, struct mmove *v)
{
    bool to_up = v->to_node->registered, from_up = v->from_node->registered;

    v->sent_ms = m->now_ms;
    switch (v->state) {
    case MOVE_PLANNED:
        if (to_up && v->to->confirmed)
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

/* ---- beginning ------------------------------------------------------------------- */

static struct mmove *move_start(struct mng *m, struct mseg *from, struct mseg *to)
{
    struct mmove *v = calloc(1, sizeof(*v));

    if (v == NULL)
        return NULL;
    v->id = m->epoch << 32 | m->next_move++;
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
    log_info("event=move move=%llu from=%llu to=%llu state=planned tickets=%u",
             (unsigned long long)v->id, (unsigned long long)v->from_id,
             (unsigned long long)v->to_id, from->st.waiting);
    move_say(m, v);
    return v;
}

/* Sealed, heard of, reachable, and in no other move. */
static bool may_move(const struct mseg *s)
{
    return s->confirmed && s->known && s->state == SEG_SEALED &&
           s->st.state == SEG_SEALED && s->move == NULL && s->st.move == 0 && !s->lacks &&
           !s->rebuild &&
           !s->want_remove && seg_reachable(s) && s->node->moves < MNG_NODE_MOVES;
}

static bool worth_merging(const struct mlane *l, const struct mseg *x, const struct mseg *y)
{
    uint64_t both = (uint64_t)x->st.waiting + y->st.waiting;

    if (x->st.waiting == 0 || y->st.waiting == 0 || both > x->capacity)
        return false;
    /* released within seconds anyway: a copy would only be in the way */
    return !x->node->draining &&
           (double)y->ahead + y->st.waiting > 5.0 * l->release_per_s;
}

/* One pass over neighbours; a segment takes part in one move at a time. */
void moves_plan(struct mng *m, struct mlane *l)
{
    if (!l->q->def.merge)
        return;
    list_each(&l->segs, it) {
        struct mseg *x = list_seg(it);
        struct mseg *y = list_seg(list_next(&l->segs, it));

        if (y != NULL && may_move(x) && !lots_pending(x) && may_move(y) && !y->lots.early &&
            worth_merging(l, x, y))
            (void)move_start(m, y, x);
    }
}

/* A fresh target directly before y, on another node. */
static void migrate(struct mng *m, struct mseg *y)
{
    struct mnode *n = place_pick(m, y, y->node, false, 0);
    struct mseg *x;

    if (n == NULL || n->moves >= MNG_NODE_MOVES)
        return;
    x = seg_new(m, y->lane, n, seg_id_take(m), y->capacity, OPEN_TARGET, y);
    if (x == NULL)
        return;
    x->ahead = y->ahead;
    x->want_next = y->st.next;
    queue_keep(m, y->lane->q, false);
    m->count.opened++;
    lane_touch(m, y->lane);
    seg_todo(m, x);
    seg_reconcile(m, x);
    (void)move_start(m, y, x);
}

void moves_drain(struct mng *m, struct mnode *n)
{
    list_each(&n->segs, it) {
        struct mseg *s = container_of(it, struct mseg, on_node);

        if (s->state == SEG_OPEN && !s->want_seal) {
            lane_touch(m, s->lane); /* its lane opens another and seals this one */
        } else if (may_move(s) && !s->lots.early &&
                   s->st.waiting + s->st.returning + s->st.records != 0) {
            if (n->moves >= MNG_NODE_MOVES)
                return;
            migrate(m, s);
        }
    }
}

/* ---- going on -------------------------------------------------------------------- */

static void move_abort(struct mng *m, struct mmove *v, const char *why)
{
    log_warn("event=move_aborted move=%llu why=%s", (unsigned long long)v->id,
             log_q(why, strlen(why)));
    m->count.moves_aborted++;
    if (v->state == MOVE_PLANNED)
        v->from_done = true; /* has heard nothing of it */
    move_set(m, v, MOVE_ABORTING);
    move_say(m, v);
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
                        .mark_end = v->from->mark_end };

    if (alias_add(l, a) < 0) {
        move_abort(m, v, "out of memory");
        return;
    }
    v->tickets = tickets;
    move_set(m, v, MOVE_COMMITTING);
    queue_keep(m, l->q, false);
    move_say(m, v); /* sent after the store has it */
}

/* The target holds them: from now on they are counted, shown and released there. */
static void move_committed(struct mng *m, struct mmove *v)
{
    struct mseg *y = v->from;
    struct mlane *l = v->to->lane;

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
            seg_look_absorbed(v->to);
        queue_keep(m, v->from->lane->q, false);
        queue_mapped(m, v->from->lane->q);
        if (v->from->missing) /* then it was not merged within its node */
            seg_lost(m, v->from);
    }
    v->to_done = true;
    move_abort(m, v, why);
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
            move_abort(m, v, g->why);
        else if (v->state == MOVE_COMMITTING)
            move_uncommit(m, v, g->why); /* it was restarted: the copy is gone */
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
            return; /* it has not heard how the move ended: said again when it is due */
        if (target_takes_part(v))
            v->progress_ms = m->now_ms;
        v->sent_ms = m->now_ms;
        v->tickets = g->tickets;
    } else if (g->report == MOVE_COMMITTED && v->state == MOVE_CLEARING) {
        move_free(m, v);
    } else if (g->report == MOVE_ABORTED) {
        v->from_done = true;
        if (v->state == MOVE_COPY)
            move_abort(m, v, g->why);
        if (v->state == MOVE_ABORTING)
            abort_over(m, v);
    }
}

/* The alias is the commit. The target may have moved on meanwhile; then both lead to the
 * same place. */
static bool was_committed(const struct mlane *l, seg_id from, seg_id to)
{
    seg_id a = l != NULL ? alias_of(l, from) : 0;

    return a != 0 && (a == to || a == alias_of(l, to));
}

/* Of a committed move of an earlier manager: has the target heard of the commit? Until it
 * has, the source keeps what it has. */
enum heard { HEARD, HEARD_NOT_YET, HEARD_NEVER };

static enum heard has_heard(const struct mng *m, const struct mlane *l, seg_id from)
{
    const struct mseg *x = seg_find(m, alias_of(l, from));

    if (x == NULL || x->lost)
        return HEARD;
    if (!x->known || seg_is_orphan(x))
        return HEARD_NOT_YET;
    /* Its node was restarted with the copy, but before the commit: both say so. */
    return seg_has_absorbed(x, from) ? HEARD : HEARD_NEVER;
}

/* A source says how far it is; its alias is not ours to end but by what it reports. */
static void end_unknown(struct mng *m, const struct mnode *n,
                        const struct msg_move_status *g)
{
    const struct mlane *to = lane_of(m, g->to), *l = to != NULL ? to : lane_of(m, g->from);
    bool commit = was_committed(l, g->from, g->to);

    if (commit && g->side == MOVE_SIDE_OUT && has_heard(m, l, g->from) != HEARD)
        return; /* it will say it again */
    order_end(m, n, g->move, g->from, g->to, commit);
}

/* What leads to x, but is not there, came by way of this source: it is back in the chain,
 * behind x, where it has always been. */
static void revive(struct mng *m, struct mnode *n, struct mlane *l,
                   const struct seg_status *st)
{
    struct mseg *x = seg_find(m, alias_of(l, st->seg));
    uint8_t kind = st->joined == 0 ? OPEN_TARGET : OPEN_TAIL;
    struct mseg *y = seg_new(m, l, n, st->seg, st->capacity, kind,
                             list_seg(list_next(&l->segs, &x->in_lane)));

    if (y == NULL)
        return; /* it will say it again */
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
    seg_look_absorbed(x);
    y->state = SEG_SEALED;
    y->confirmed = y->seen = true;
    seg_status(m, y, st);
    queue_keep(m, l->q, false);
    queue_mapped(m, l->q);
    order_end(m, n, st->move, y->id, x->id, false);
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
            end_unknown(m, n, g);
        return;
    }
    if (g->side == MOVE_SIDE_IN && n == v->to_node)
        report_in(m, v, g);
    else if (g->side == MOVE_SIDE_OUT && n == v->from_node)
        report_out(m, v, g);
}

/* A segment takes part in a move of an earlier manager, or of one that was aborted while
 * its node was away. If it is the source of a committed one, an alias says so. All else
 * is decided by the MOVE_STATUS that its node repeats: only that names both ends. */
void move_orphan(struct mng *m, struct mnode *n, const struct seg_status *st)
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

/* ---- time and loss --------------------------------------------------------------- */

/* A segment that is gone, or that its node has not opened yet, has nothing to forget. */
static bool nothing_there(const struct mseg *s)
{
    return s == NULL || s->lost || !s->confirmed;
}

static void move_tick(struct mng *m, struct mmove *v)
{
    bool early = v->state == MOVE_PLANNED || v->state == MOVE_COPY;
    bool ends = v->from != NULL && v->to != NULL;

    if (early && (!ends || v->to->lost || v->from->lost)) {
        move_abort(m, v, "segment gone");
    } else if (early && m->now_ms - v->progress_ms > MNG_MOVE_IDLE_MS) {
        move_abort(m, v, "no progress");
    } else if (v->state == MOVE_COMMITTING &&
               (v->to == NULL || v->to->lost)) {
        move_uncommit(m, v, "the target is lost");
    }
    if (v->state == MOVE_ABORTING) {
        v->from_done |= nothing_there(v->from) || v->from_node->gave_up;
        v->to_done |= nothing_there(v->to) || v->to_node->gave_up;
        if (v->from_done && v->to_done) {
            move_free(m, v);
            return;
        }
    }
    if (v->state == MOVE_CLEARING && v->from_node->gave_up) {
        move_free(m, v);
        return;
    }
    if (m->now_ms - v->sent_ms >= MNG_AGAIN_MS)
        move_say(m, v);
}

void moves_tick(struct mng *m)
{
    list_each(&m->moves, it)
        move_tick(m, list_move(it));
}

void moves_node_down(struct mng *m, struct mnode *n)
{
    list_each(&m->moves, it) {
        struct mmove *v = list_move(it);
        bool in_it = v->from_node == n || v->to_node == n;

        if (in_it && (v->state == MOVE_PLANNED || v->state == MOVE_COPY))
            move_abort(m, v, "node down");
    }
}
