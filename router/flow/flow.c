/* flow.c: a join, poll or leave, decision by decision. See flow.h.
 *
 * What can go wrong, and the answer:
 *   the map has no open segment      wait for a newer one; at the deadline 503 queue_full
 *   ... and the queue is about to open, or its last one was lost   the same; 503
 *                                    queue_unavailable
 *   the map is older than the token  wait for a newer one; at the deadline 503
 *   a subject's ticket was found     its owner is asked; gone meanwhile: joined again
 *   nobody is sure whether it has one   ask again in a moment; at the deadline 503; if it is
 *                                    only a key: after a second without it
 *   link broke under a join          503: it may have been recorded, so it is not repeated
 *   link broke under poll or leave   ask again after a moment; at the deadline 503
 *   the node does not know the segment, or says it moved: a newer map, or ask the target
 *   the segment's queue is gone, or it was unlinked: 410 finished (a leave: 204)
 *   the segment is lost              410 segment_lost (a leave: 204)
 *   anything, while a join is held   its ticket: it has one
 *   anything, in a renewal           503 at once: nobody waits for it
 *   anything, in a replacement       503: asked again it goes on where it was. The older ticket
 *                                    waits, or the new place is found by its subject or key;
 *                                    a place that nobody is told of times out */
#include "router/flow/flow.h"

#include <assert.h>

#include "common/base/err.h"

#define FLOW_AGAIN_MS  100 /* between two asks of somebody who could not help */
#define FLOW_QUICK_MAX 8   /* asks without a pause: more means that we go in circles */

static void done(struct flow *f, enum flow_result result)
{
    f->todo = FLOW_DONE;
    f->result = result;
    f->wake_ms = MSEC_NEVER;
}

/* When the time is over there is an answer at once; `late` says which. */
static void pause_until(struct flow *f, msec_t wake_ms, msec_t now_ms, enum flow_result late)
{
    if (now_ms >= f->deadline_ms || f->renews) {
        done(f, f->step == REPLACE_UNDO ? (enum flow_result)f->undone : late);
        return;
    }
    f->todo = FLOW_WAIT_MAP;
    f->wake_ms = ms_min(wake_ms, f->deadline_ms);
    assert(f->wake_ms <= f->deadline_ms); /* it never waits past its end */
}

static void wait_map(struct flow *f, msec_t now_ms)
{
    pause_until(f, now_ms + FLOW_AGAIN_MS, now_ms, FLOW_UNAVAIL);
}

/* The segment is being moved: the map that names the new place ends the wait; the next ask
 * is for a move that was given up. */
static void wait_fence(struct flow *f, msec_t now_ms)
{
    pause_until(f, now_ms + FLOW_BUSY_MS, now_ms, FLOW_UNAVAIL);
}

/* The ticket that a join had found is over: it joins again, in a moment, since whoever
 * named it may not have heard. */
static void found_gone(struct flow *f, msec_t now_ms)
{
    assert(f->kind == FLOW_JOIN && f->hold_ms == 0);
    f->asks = FLOW_JOIN;
    f->lane = f->join_lane;
    f->token.client = f->join_client;
    wait_fence(f, now_ms);
}

static void old_is_gone(struct flow *f, struct routes *r, enum gone_reason why, msec_t now_ms);

static void gone(struct flow *f, struct routes *r, enum gone_reason why, msec_t now_ms)
{
    if (f->step != REPLACE_NONE) {
        old_is_gone(f, r, why, now_ms);
        return;
    }
    if (f->kind == FLOW_JOIN) {
        found_gone(f, now_ms);
        return;
    }
    f->reason = (uint8_t)why;
    /* Who wanted it to end has that. */
    done(f, f->kind == FLOW_LEAVE || (f->kind == FLOW_SESSION && f->command != SESS_EXTEND)
                ? FLOW_OK
                : FLOW_GONE);
}

static void ask(struct flow *f, seg_id serving, seg_id name, node_no node, msec_t now_ms)
{
    if (f->tries >= FLOW_QUICK_MAX && f->todo == FLOW_ASK) {
        wait_map(f, now_ms); /* the answer to the last ask led straight to this one */
        return;
    }
    if (f->tries < UINT8_MAX)
        f->tries++;
    f->todo = FLOW_ASK;
    f->wake_ms = f->deadline_ms;
    f->serving = serving;
    f->seg = name;
    f->node = node;
}

static void next_join(struct flow *f, struct routes *r, msec_t now_ms)
{
    struct route_tail t;
    int rc = routes_tail(r, f->queue, f->lane, &t);

    if (rc == 0)
        ask(f, t.seg, t.seg, t.node, now_ms);
    else if (rc == SQ_EFULL || rc == SQ_EUNAVAIL)
        pause_until(f, f->deadline_ms, now_ms, rc == SQ_EFULL ? FLOW_FULL : FLOW_UNAVAIL);
    else if (routes_version(r) > 0)
        done(f, FLOW_NO_QUEUE); /* deleted while we waited */
    else
        wait_map(f, now_ms);
}

static void next_old(struct flow *f, struct routes *r, msec_t now_ms);

static void next_poll(struct flow *f, struct routes *r, msec_t now_ms)
{
    struct route_owner o;
    int rc;

    if (SQ_UNLIKELY(f->step != REPLACE_NONE)) {
        next_old(f, r, now_ms);
        return;
    }
    rc = routes_owner(r, f->token.seg, &o);
    if (rc == SQ_EGONE) {
        gone(f, r, GONE_FINISHED, now_ms);
        return;
    }
    if (rc < 0) {
        wait_map(f, now_ms);
        return;
    }
    f->queue = o.queue->map.id;
    f->lane = (uint8_t)o.lane;
    if (o.lost)
        gone(f, r, GONE_LOST, now_ms);
    else
        ask(f, o.seg, f->token.seg, o.node, now_ms);
}

static void next(struct flow *f, struct routes *r, msec_t now_ms)
{
    if (f->asks == FLOW_JOIN)
        next_join(f, r, now_ms);
    else
        next_poll(f, r, now_ms);
}

static void start(struct flow *f, enum flow_kind kind, msec_t now_ms)
{
    *f = (struct flow){ .kind = kind,
                        .asks = kind,
                        .todo = FLOW_WAIT_MAP,
                        .token = f->token,
                        .deadline_ms = now_ms + FLOW_TIMEOUT_MS };
}

/* False: it has ended. */
static bool may_join(struct flow *f, struct routes *r, const struct route_queue *q,
                     unsigned lane)
{
    if (q == NULL) {
        done(f, routes_version(r) > 0 ? FLOW_NO_QUEUE : FLOW_UNAVAIL);
        return false;
    }
    f->queue = q->map.id;
    f->lane = f->join_lane = (uint8_t)lane;
    f->join_client = f->token.client;
    if (q->map.state == QUEUE_CLOSED)
        done(f, FLOW_CLOSED);
    else if (q->map.state == QUEUE_FULL)
        done(f, FLOW_FULL);
    return f->todo != FLOW_DONE;
}

void flow_join(struct flow *f, struct routes *r, const struct route_queue *q, unsigned lane,
               msec_t now_ms)
{
    start(f, FLOW_JOIN, now_ms);
    if (may_join(f, r, q, lane))
        next_join(f, r, now_ms);
}

void flow_poll(struct flow *f, struct routes *r, const struct token *t, msec_t now_ms)
{
    f->token = *t;
    start(f, FLOW_POLL, now_ms);
    next_poll(f, r, now_ms);
}

void flow_leave(struct flow *f, struct routes *r, const struct token *t, msec_t now_ms)
{
    f->token = *t;
    start(f, FLOW_LEAVE, now_ms);
    next_poll(f, r, now_ms);
}

static void session(struct flow *f, struct routes *r, const struct token *t,
                    const struct flow *what, msec_t now_ms)
{
    f->token = *t;
    start(f, FLOW_SESSION, now_ms);
    f->command = what->command;
    f->until_s = what->until_s;
    f->renews = what->renews;
    next_poll(f, r, now_ms);
}

void flow_session(struct flow *f, struct routes *r, const struct token *t,
                  enum sess_command command, int64_t until_s, msec_t now_ms)
{
    session(f, r, t, &(struct flow){ .command = (uint8_t)command, .until_s = until_s },
            now_ms);
}

void flow_renew(struct flow *f, struct routes *r, const struct token *t, int64_t until_s,
                msec_t now_ms)
{
    session(f, r, t,
            &(struct flow){ .command = SESS_EXTEND, .until_s = until_s, .renews = true },
            now_ms);
}

/* The node that had the ticket names the segment that has it now. Asked there at once if
 * the map knows where that is; the token's own segment stays the name in the request. */
static void follow(struct flow *f, struct routes *r, seg_id to, msec_t now_ms)
{
    struct route_owner o;

    if (to != f->serving && routes_owner(r, to, &o) == 0 && !o.lost)
        ask(f, o.seg, f->seg, o.node, now_ms);
    else
        wait_map(f, now_ms);
}

/* ---- a join that replaces a ticket --------------------------------------------------------- */

/* As next_poll(), for a step of a replacement: its queue and lane are the join's. */
static void next_old(struct flow *f, struct routes *r, msec_t now_ms)
{
    const struct token *t = f->step == REPLACE_LEAVE ? &f->old : &f->token;
    struct route_owner o;
    int rc = routes_owner(r, t->seg, &o);

    if (rc == SQ_EGONE)
        gone(f, r, GONE_FINISHED, now_ms);
    else if (rc < 0)
        wait_map(f, now_ms);
    else if (o.queue->map.id != f->queue)
        done(f, FLOW_OTHER);
    else if (o.lost)
        gone(f, r, GONE_LOST, now_ms);
    else
        ask(f, o.seg, t->seg, o.node, now_ms);
}

static void go(struct flow *f, struct routes *r, enum replace_step step, enum flow_kind asks,
               msec_t now_ms)
{
    f->step = (uint8_t)step;
    f->asks = asks;
    f->lane = f->join_lane;
    if (step == REPLACE_JOIN)
        f->token.client = f->join_client;
    f->todo = FLOW_WAIT_MAP; /* no more asks without a pause than for others */
    next(f, r, now_ms);
}

void flow_replace(struct flow *f, struct routes *r, const struct route_queue *q, unsigned lane,
                  const struct token *old, msec_t now_ms)
{
    struct route_owner o;

    start(f, FLOW_JOIN, now_ms);
    if (!may_join(f, r, q, lane))
        return;
    f->old = *old;
    if (routes_owner(r, old->seg, &o) == 0 && o.queue == q && o.lane == lane) {
        f->token = *old;
        go(f, r, REPLACE_STAY, FLOW_POLL, now_ms);
    } else {
        f->token.seg = old->seg; /* until there is a place of the join's own */
        f->token.number = old->number;
        f->token.client = old->client;
        go(f, r, REPLACE_LOOK, FLOW_POLL, now_ms);
    }
}

/* A fresh place is given back; one of an earlier try is not ours alone, and times out. */
static void undo(struct flow *f, struct routes *r, enum flow_result result, msec_t now_ms)
{
    f->undone = (uint8_t)result;
    if (f->fresh)
        go(f, r, REPLACE_UNDO, FLOW_LEAVE, now_ms);
    else
        done(f, result);
}

/* There is a place. A place that was found is asked how it stands, when the old one is left. */
static void replaced(struct flow *f, struct routes *r, msec_t now_ms)
{
    if (f->fresh)
        done(f, FLOW_OK);
    else
        go(f, r, REPLACE_NONE, FLOW_POLL, now_ms);
}

/* What is asked of is over. */
static void old_is_gone(struct flow *f, struct routes *r, enum gone_reason why, msec_t now_ms)
{
    switch ((enum replace_step)f->step) {
    case REPLACE_LOOK:
        f->old_gone = true;
        f->reason = (uint8_t)why;
        go(f, r, REPLACE_JOIN, FLOW_JOIN, now_ms);
        break;
    case REPLACE_LEAVE: /* another try has done it, or it has just left */
        replaced(f, r, now_ms);
        break;
    case REPLACE_UNDO:
        done(f, (enum flow_result)f->undone);
        break;
    default: /* REPLACE_STAY */
        f->reason = (uint8_t)why;
        done(f, FLOW_GONE);
    }
}

/* False: it neither waits nor was it let in. */
static bool looked(struct flow *f, struct routes *r, const struct place_ans *a, msec_t now_ms)
{
    if (a->state == PLACE_WAITING)
        go(f, r, REPLACE_JOIN, FLOW_JOIN, now_ms);
    else if (a->state == PLACE_ADMITTED)
        done(f, FLOW_INSIDE);
    return a->state == PLACE_WAITING || a->state == PLACE_ADMITTED;
}

static bool is_old(const struct flow *f)
{
    return f->token.seg == f->old.seg && f->token.number == f->old.number;
}

static void replacement_joined(struct flow *f, struct routes *r, msec_t now_ms)
{
    if (is_old(f)) /* found by a node of an older release, which knows no replacements */
        pause_until(f, now_ms + FLOW_AGAIN_MS, now_ms, FLOW_UNAVAIL);
    else if (!f->old_gone)
        go(f, r, REPLACE_LEAVE, FLOW_LEAVE, now_ms);
    else if (f->fresh)
        undo(f, r, FLOW_GONE, now_ms);
    else
        replaced(f, r, now_ms);
}

static void replacement_dropped(struct flow *f, struct routes *r, const struct drop_ans *a,
                                msec_t now_ms)
{
    if (f->step == REPLACE_UNDO)
        done(f, (enum flow_result)f->undone);
    else if (a->state == DROP_INSIDE)
        undo(f, r, FLOW_INSIDE, now_ms);
    else if (a->state == DROP_NAMED)
        undo(f, r, FLOW_NAMED, now_ms);
    else
        replaced(f, r, now_ms);
}

/* ---- direct entry ------------------------------------------------------------------------ */

/* Soon at first: the way through the manager takes some ms. Then as its ticks come. */
static void hold(struct flow *f, msec_t now_ms)
{
    static const uint16_t gaps_ms[] = { 6, 12, 25, 50 };
    unsigned i = f->looks < ARRAY_LEN(gaps_ms) - 1 ? f->looks : ARRAY_LEN(gaps_ms) - 1;

    assert(f->kind == FLOW_JOIN && f->hold_ms != 0 && f->position != 0);
    if (now_ms >= f->hold_ms || now_ms >= f->deadline_ms) {
        done(f, FLOW_OK);
        return;
    }
    f->looks += f->looks < UINT8_MAX;
    f->todo = FLOW_WAIT_MAP;
    f->wake_ms = ms_min(now_ms + gaps_ms[i], ms_min(f->hold_ms, f->deadline_ms));
}

static void look(struct flow *f, struct routes *r, msec_t now_ms)
{
    struct route_owner o;

    if (now_ms >= f->hold_ms || now_ms >= f->deadline_ms ||
        routes_owner(r, f->token.seg, &o) < 0 || o.lost) {
        done(f, FLOW_OK);
        return;
    }
    f->asks = FLOW_POLL;
    ask(f, o.seg, f->token.seg, o.node, now_ms);
}

static void held_ans(struct flow *f, const struct place_ans *a, msec_t now_ms)
{
    if (a->state == PLACE_ADMITTED) {
        f->admitted = true;
        f->released_at_ms = a->released_at_ms;
        f->pass_expires_s = a->pass_expires_s;
        done(f, FLOW_OK);
    } else if (a->state == PLACE_WAITING || a->state == PLACE_BUSY) {
        hold(f, now_ms);
    } else {
        done(f, FLOW_OK); /* its next poll says what has become of it */
    }
}

void flow_let_go(struct flow *f)
{
    if (f->hold_ms != 0 && f->todo == FLOW_WAIT_MAP)
        done(f, FLOW_OK);
}

void flow_place_ans(struct flow *f, struct routes *r, const struct place_ans *a, msec_t now_ms)
{
    if (f->todo != FLOW_ASK)
        return; /* it came after the deadline */
    if (f->hold_ms != 0) {
        held_ans(f, a, now_ms);
        return;
    }
    if (SQ_UNLIKELY(f->step == REPLACE_LOOK) && looked(f, r, a, now_ms))
        return;
    switch ((enum place_state)a->state) {
    case PLACE_WAITING:
        f->position = a->position;
        f->no_place = a->reason;
        f->poll_after_ms = a->poll_after_ms;
        done(f, f->kind == FLOW_JOIN ? FLOW_EXISTING : FLOW_OK);
        break;
    case PLACE_ADMITTED:
        f->admitted = true;
        f->released_at_ms = a->released_at_ms;
        f->pass_expires_s = a->pass_expires_s;
        done(f, f->kind == FLOW_JOIN ? FLOW_EXISTING : FLOW_OK);
        break;
    case PLACE_GONE:
        gone(f, r, (enum gone_reason)a->reason, now_ms);
        break;
    case PLACE_BUSY:
        wait_fence(f, now_ms);
        break;
    case PLACE_MOVED:
        follow(f, r, a->moved_to, now_ms);
        break;
    default:
        wait_map(f, now_ms);
        break;
    }
}

static void joined(struct flow *f, const struct append_ans *a)
{
    f->token.seg = a->seg != 0 ? a->seg : f->seg;
    f->token.number = a->number;
    f->token.issued_s = a->issued_s;
    f->token.client = a->client;
    f->position = a->position;
    f->no_place = a->no_place;
    f->poll_after_ms = a->poll_after_ms;
}

/* A subject must not have two places; a key saves a second one where that can be had: who
 * has come is not sent away for it while a member of the directory is gone. */
static void join_bare(struct flow *f, struct routes *r, msec_t now_ms)
{
    assert(f->keyed && !f->bare); /* only a key may be left out, and once */
    f->bare = true;
    f->todo = FLOW_WAIT_MAP; /* no more asks without a pause than for others */
    next_join(f, r, now_ms);
}

void flow_append_ans(struct flow *f, struct routes *r, const struct append_ans *a,
                     msec_t now_ms)
{
    if (f->todo != FLOW_ASK)
        return;
    assert(f->asks == FLOW_JOIN);
    switch ((enum append_state)a->state) {
    case APPEND_OK:
        joined(f, a);
        f->fresh = true;
        if (f->step != REPLACE_NONE) {
            replacement_joined(f, r, now_ms);
            break;
        }
        done(f, FLOW_OK);
        if (a->position != 0 && a->position <= routes_entry(r, f->queue)) {
            f->hold_ms = now_ms + FLOW_HOLD_MS;
            hold(f, now_ms);
        }
        break;
    case APPEND_EXISTING: /* how it stands says who has it now */
        joined(f, a);
        f->fresh = false;
        if (f->step != REPLACE_NONE) {
            replacement_joined(f, r, now_ms);
            break;
        }
        f->asks = FLOW_POLL;
        f->todo = FLOW_WAIT_MAP; /* no more asks without a pause than for others */
        next_poll(f, r, now_ms);
        break;
    case APPEND_BUSY:
        if (a->poll_after_ms == 0)
            done(f, FLOW_UNAVAIL);
        else if (f->keyed && !f->bare && now_ms >= f->deadline_ms - FLOW_TIMEOUT_MS + FLOW_KEY_MS)
            join_bare(f, r, now_ms);
        else
            pause_until(f, now_ms + a->poll_after_ms, now_ms, FLOW_UNAVAIL);
        break;
    case APPEND_SEALED:
        /* The chain's next open one is the successor, if the map has it already: nobody
         * skips a segment that may still be open. */
        routes_sealed(r, f->seg);
        next_join(f, r, now_ms);
        break;
    case APPEND_UNKNOWN:
        wait_map(f, now_ms);
        break;
    default:
        done(f, FLOW_UNAVAIL);
        break;
    }
}

void flow_drop_ans(struct flow *f, struct routes *r, const struct drop_ans *a, msec_t now_ms)
{
    if (f->todo != FLOW_ASK)
        return;
    assert(f->asks == FLOW_LEAVE);
    switch ((enum drop_state)a->state) {
    case DROP_OK:
    case DROP_GONE:
    case DROP_INSIDE:
    case DROP_NAMED:
        if (f->step != REPLACE_NONE)
            replacement_dropped(f, r, a, now_ms);
        else
            done(f, FLOW_OK);
        break;
    case DROP_BUSY:
        wait_fence(f, now_ms);
        break;
    case DROP_MOVED:
        follow(f, r, a->moved_to, now_ms);
        break;
    default:
        wait_map(f, now_ms);
        break;
    }
}

void flow_session_ans(struct flow *f, struct routes *r, const struct sess_ans *a,
                      msec_t now_ms)
{
    if (f->todo != FLOW_ASK)
        return;
    assert(f->asks == FLOW_SESSION);
    switch ((enum sess_state)a->state) {
    case SESS_OK:
        f->until_s = a->until_s;
        done(f, FLOW_OK);
        break;
    case SESS_GONE:
        gone(f, r, GONE_FINISHED, now_ms);
        break;
    case SESS_BUSY:
        wait_fence(f, now_ms);
        break;
    case SESS_MOVED:
        follow(f, r, a->moved_to, now_ms);
        break;
    default:
        wait_map(f, now_ms);
        break;
    }
}

void flow_lost(struct flow *f, struct routes *r, msec_t now_ms)
{
    (void)r;
    if (f->todo != FLOW_ASK)
        return;
    if (f->hold_ms != 0)
        done(f, FLOW_OK);
    else if (f->asks == FLOW_JOIN)
        done(f, FLOW_UNAVAIL);
    else
        wait_map(f, now_ms);
}

/* Did a join come to nothing because the lane has no room? */
static bool is_full(const struct flow *f, const struct routes *r)
{
    struct route_tail t;

    return f->asks == FLOW_JOIN && f->todo == FLOW_WAIT_MAP &&
           routes_tail(r, f->queue, f->lane, &t) == SQ_EFULL;
}

void flow_retry(struct flow *f, struct routes *r, msec_t now_ms)
{
    if (f->todo == FLOW_DONE)
        return;
    if (f->hold_ms != 0) {
        if (f->todo == FLOW_WAIT_MAP)
            look(f, r, now_ms);
        else if (now_ms >= f->deadline_ms)
            done(f, FLOW_OK);
        return;
    }
    if (now_ms >= f->deadline_ms) /* an ask under way is cut off, too */
        done(f, f->step == REPLACE_UNDO ? (enum flow_result)f->undone : is_full(f, r) ? FLOW_FULL : FLOW_UNAVAIL);
    else if (f->todo != FLOW_ASK)
        next(f, r, now_ms);
}
