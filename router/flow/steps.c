/* steps.c: see steps.h. */
#include "router/flow/steps.h"

#include <assert.h>

#include "common/base/err.h"

#define FLOW_QUICK_MAX 8 /* asks without a pause: more means that we go in circles */

void flow_pause(struct flow *f, msec_t wake_ms, msec_t now_ms, enum flow_result late)
{
    if (now_ms >= f->deadline_ms || f->renews) {
        flow_end(f, late);
        return;
    }
    f->todo = FLOW_WAIT_MAP;
    f->wake_ms = ms_min(wake_ms, f->deadline_ms);
    assert(f->wake_ms <= f->deadline_ms); /* never waits past its end */
}

/* Another step of a flow sets f->todo to FLOW_WAIT_MAP before: it may ask without a pause. */
void flow_ask(struct flow *f, seg_id serving, seg_id name, node_no node, msec_t now_ms)
{
    if (f->tries >= FLOW_QUICK_MAX && f->todo == FLOW_ASK) {
        flow_wait_map(f, now_ms); /* the answer to the last ask led straight to this one */
        return;
    }
    f->tries += f->tries < UINT8_MAX;
    f->todo = FLOW_ASK;
    f->wake_ms = f->deadline_ms;
    f->serving = serving;
    f->seg = name;
    f->node = node;
}

void flow_ask_tail(struct flow *f, struct routes *r, msec_t now_ms)
{
    struct route_tail t;
    int rc = routes_tail(r, f->queue, f->lane, &t);

    assert(f->kind == FLOW_JOIN && f->asks == FLOW_JOIN);
    if (rc == 0)
        flow_ask(f, t.seg, t.seg, t.node, now_ms);
    else if (rc == SQ_EFULL || rc == SQ_EUNAVAIL)
        flow_pause(f, f->deadline_ms, now_ms, rc == SQ_EFULL ? FLOW_FULL : FLOW_UNAVAIL);
    else if (routes_version(r) > 0)
        flow_end(f, FLOW_NO_QUEUE); /* deleted while we waited */
    else
        flow_wait_map(f, now_ms);
}

enum gone_reason flow_ask_owner(struct flow *f, struct routes *r, seg_id of, msec_t now_ms)
{
    struct route_owner o;
    int rc = routes_owner(r, of, &o);

    if (SQ_UNLIKELY(rc < 0)) {
        if (rc == SQ_EGONE)
            return GONE_FINISHED;
        flow_wait_map(f, now_ms);
    } else if (SQ_UNLIKELY(f->step != REPLACE_NONE && o.queue->map.id != f->queue)) {
        flow_end(f, FLOW_OTHER);
    } else {
        f->queue = o.queue->map.id;
        if (f->step == REPLACE_NONE) /* else it is the join's */
            f->lane = (uint8_t)o.lane;
        if (o.lost)
            return GONE_LOST;
        flow_ask(f, o.seg, of, o.node, now_ms);
    }
    return GONE_NREASONS;
}

void flow_follow(struct flow *f, struct routes *r, seg_id to, msec_t now_ms)
{
    struct route_owner o;

    if (to != f->serving && routes_owner(r, to, &o) == 0 && !o.lost)
        flow_ask(f, o.seg, f->seg, o.node, now_ms);
    else
        flow_wait_map(f, now_ms);
}

void flow_join_again(struct flow *f, msec_t now_ms)
{
    assert(f->kind == FLOW_JOIN && f->hold_ms == 0);
    f->asks = FLOW_JOIN;
    f->lane = f->join_lane;
    f->token.client = f->join_client;
    f->counted = false; /* none: that place is over */
    flow_wait_fence(f, now_ms);
}

/* ---- a replacement ---- */

static void go(struct flow *f, struct routes *r, enum replace_step step, enum flow_kind asks,
               msec_t now_ms)
{
    enum gone_reason why;

    assert(f->kind == FLOW_JOIN && f->todo != FLOW_DONE && f->hold_ms == 0);
    f->step = (uint8_t)step;
    f->asks = asks;
    f->lane = f->join_lane;
    f->todo = FLOW_WAIT_MAP;
    if (step == REPLACE_JOIN) {
        f->token.client = f->join_client;
        flow_ask_tail(f, r, now_ms);
        return;
    }
    why = flow_ask_owner(f, r, flow_ticket(f)->seg, now_ms);
    if (why != GONE_NREASONS)
        replace_gone(f, r, why, now_ms);
}

void replace_begin(struct flow *f, struct routes *r, const struct token *old, msec_t now_ms)
{
    struct route_owner o;

    f->old = *old;
    if (routes_owner(r, old->seg, &o) == 0 && o.queue->map.id == f->queue &&
        o.lane == f->join_lane) {
        f->token = *old;
        go(f, r, REPLACE_STAY, FLOW_POLL, now_ms);
    } else {
        f->token.seg = old->seg; /* until there is a place of the join's own */
        f->token.number = old->number;
        f->token.client = old->client;
        go(f, r, REPLACE_LOOK, FLOW_POLL, now_ms);
    }
}

/* The place is given back; one of an earlier try, which may have it still, stays, or times out. */
static void undo(struct flow *f, struct routes *r, enum flow_result result, msec_t now_ms)
{
    f->undone = (uint8_t)result;
    if (flow_got(f))
        go(f, r, REPLACE_UNDO, FLOW_LEAVE, now_ms);
    else
        flow_end(f, result);
}

/* The old place is left. A place that was found is asked how it stands. */
static void replaced(struct flow *f, struct routes *r, msec_t now_ms)
{
    if (f->fresh)
        flow_end(f, FLOW_OK);
    else
        go(f, r, REPLACE_NONE, FLOW_POLL, now_ms);
}

void replace_gone(struct flow *f, struct routes *r, enum gone_reason why, msec_t now_ms)
{
    switch ((enum replace_step)f->step) {
    case REPLACE_LOOK:
        f->old_gone = true;
        f->reason = (uint8_t)why;
        go(f, r, REPLACE_JOIN, FLOW_JOIN, now_ms);
        break;
    case REPLACE_CHECK:
    case REPLACE_CLEAR: /* whoever remembers it has not heard yet that it is over */
        f->step = REPLACE_JOIN;
        flow_join_again(f, now_ms);
        break;
    case REPLACE_LEAVE: /* another try has done it, or it has just left */
        f->old_node = f->node;
        replaced(f, r, now_ms);
        break;
    case REPLACE_NONE: /* the place that was found */
        flow_join_again(f, now_ms);
        break;
    case REPLACE_UNDO:
        flow_end(f, FLOW_OK); /* undone, so done */
        break;
    default: /* REPLACE_STAY */
        f->reason = (uint8_t)why;
        flow_end(f, FLOW_GONE);
    }
}

static void leave_old(struct flow *f, struct routes *r, msec_t now_ms)
{
    go(f, r, REPLACE_LEAVE, FLOW_LEAVE, now_ms);
}

/* Left by an earlier change of the same subject. Another name's place is not ours to end: a claim,
 * or who joins with it, may name anybody. */
static bool is_left_over(const struct flow *f)
{
    return f->token.issued_s < f->old.issued_s && f->token.subject_hash == f->old.subject_hash;
}

bool replace_looked(struct flow *f, struct routes *r, const struct place_ans *a, msec_t now_ms)
{
    bool is_there = a->state == PLACE_WAITING || a->state == PLACE_ADMITTED;

    assert(f->step == REPLACE_LOOK || f->step == REPLACE_CHECK);
    if (f->step == REPLACE_CHECK && a->state == PLACE_WAITING && is_left_over(f))
        go(f, r, REPLACE_CLEAR, FLOW_LEAVE, now_ms);
    else if (is_there && f->step == REPLACE_CHECK)
        leave_old(f, r, now_ms);
    else if (a->state == PLACE_WAITING)
        go(f, r, REPLACE_JOIN, FLOW_JOIN, now_ms);
    else if (is_there)
        flow_end(f, FLOW_INSIDE);
    return is_there;
}

/* A place that was found is asked first if it is still there: the old one is kept until then. */
static void found_or_given(struct flow *f, struct routes *r, msec_t now_ms)
{
    if (f->fresh)
        leave_old(f, r, now_ms);
    else
        go(f, r, REPLACE_CHECK, FLOW_POLL, now_ms);
}

void replace_joined(struct flow *f, struct routes *r, msec_t now_ms)
{
    assert(f->step == REPLACE_JOIN);
    if (!f->old_gone)
        found_or_given(f, r, now_ms);
    else if (f->fresh)
        undo(f, r, FLOW_GONE, now_ms);
    else
        replaced(f, r, now_ms);
}

void replace_dropped(struct flow *f, struct routes *r, enum drop_state state, msec_t now_ms)
{
    assert(f->step == REPLACE_LEAVE || f->step == REPLACE_UNDO || f->step == REPLACE_CLEAR);
    if (f->step == REPLACE_CLEAR) {
        if (state == DROP_INSIDE) /* a drop for an heir spares it now */
            leave_old(f, r, now_ms);
        else if (state == DROP_NAMED)
            flow_end(f, FLOW_NAMED);
        else
            replace_gone(f, r, GONE_LEFT, now_ms);
        return;
    }
    if (f->step == REPLACE_LEAVE && state != DROP_NAMED)
        f->old_node = f->node;
    if (f->step == REPLACE_UNDO)
        flow_end(f, FLOW_OK); /* undone, so done */
    else if (state == DROP_INSIDE)
        undo(f, r, FLOW_INSIDE, now_ms);
    else if (state == DROP_NAMED)
        undo(f, r, FLOW_NAMED, now_ms);
    else
        replaced(f, r, now_ms);
}
