/* flow.c: see flow.h.
 *
 *   what goes wrong                       what follows
 *   the lane has no open segment          waits for a newer map; at the deadline 503 queue_full
 *   ... since the queue is about to open, the same; at the deadline 503 queue_unavailable
 *     or since its last one was lost
 *   the map is older than the token       waits for a newer one; at the deadline 503
 *   a subject's ticket was found          its owner is asked; if it is over meanwhile: joined again.
 *                                         An owner that did not tell of it counts the join first,
 *                                         if it can: another join may give that place back
 *   no node is sure whether a subject     asks again in a moment; at the deadline 503. If it is
 *     has a ticket                        only a key: after FLOW_KEY_MS it joins without it
 *   the link broke under a join           503: it may have been recorded, so it is not repeated.
 *                                         With a name it asks again, at whatever the tail is then:
 *                                         one that was recorded is found, or its share's owner says
 *                                         busy; at the deadline 503
 *   the tail's node cannot be reached     503 at once
 *   the link broke under a poll or leave  asks again after a moment; at the deadline 503. A poll of
 *                                         who waits is answered from the replica, for a while, as
 *                                         is one that has no answer at its deadline (replicas.h)
 *   the node does not know the segment,   waits for a newer map, or asks the target
 *     or says that it moved
 *   the segment's queue is gone, or it    410 finished (a leave: 204)
 *     was unlinked
 *   the segment is lost                   410 segment_lost (a leave: 204)
 *   anything, while a join is held        its ticket: it has one
 *   anything, in a renewal                503 at once: nobody waits for it
 *   anything, in a replacement            503: asked again it goes on where it was. The older
 *                                         ticket waits, or the new place is found by its subject
 *                                         or key; a place that nobody is told of times out */
#include "router/flow/flow.h"

#include <assert.h>
#include <string.h>

#include "common/base/err.h"
#include "router/flow/steps.h"
#include "router/replica/replicas.h"

/* ---- a join whose answer is held: direct entry ------------------------------------------ */

static bool is_over(const struct flow *f, msec_t now_ms)
{
    return now_ms >= f->hold_ms || now_ms >= f->deadline_ms;
}

/* Soon at first: the way through the manager takes some ms. Then as its ticks come. */
static void hold(struct flow *f, msec_t now_ms)
{
    static const uint16_t gaps_ms[] = { 6, 12, 25, 50 };
    unsigned i = f->looks < ARRAY_LEN(gaps_ms) - 1 ? f->looks : ARRAY_LEN(gaps_ms) - 1;

    assert(f->kind == FLOW_JOIN && f->step == REPLACE_NONE && f->position != 0);
    if (is_over(f, now_ms)) {
        flow_end(f, FLOW_OK);
        return;
    }
    f->looks += f->looks < UINT8_MAX;
    f->todo = FLOW_WAIT_MAP;
    f->wake_ms = ms_min(now_ms + gaps_ms[i], ms_min(f->hold_ms, f->deadline_ms));
}

static void hold_begin(struct flow *f, msec_t now_ms)
{
    assert(f->hold_ms == 0 && f->fresh);
    f->hold_ms = now_ms + FLOW_HOLD_MS;
    hold(f, now_ms);
}

static void hold_look(struct flow *f, struct routes *r, msec_t now_ms)
{
    struct route_owner o;

    assert(f->hold_ms != 0 && f->todo == FLOW_WAIT_MAP);
    if (is_over(f, now_ms) || routes_owner(r, f->token.seg, &o) < 0 || o.lost) {
        flow_end(f, FLOW_OK);
        return;
    }
    f->asks = FLOW_POLL;
    flow_ask(f, o.seg, f->token.seg, o.node, now_ms);
}

static void hold_ans(struct flow *f, const struct place_ans *a, msec_t now_ms)
{
    assert(f->hold_ms != 0 && f->asks == FLOW_POLL);
    if (a->state == PLACE_WAITING || a->state == PLACE_BUSY) {
        hold(f, now_ms);
        return;
    }
    if (a->state == PLACE_ADMITTED)
        flow_admitted(f, a->released_at_ms, a->pass_expires_s);
    flow_end(f, FLOW_OK); /* if it is none of these, its next poll says what has become of it */
}

/* ---- asking ----------------------------------------------------------------------------- */

/* The ticket that is asked for is over. */
static void gone(struct flow *f, struct routes *r, enum gone_reason why, msec_t now_ms)
{
    if (f->step != REPLACE_NONE) {
        replace_gone(f, r, why, now_ms);
    } else if (f->kind == FLOW_JOIN) {
        flow_join_again(f, now_ms);
    } else {
        bool wanted = f->kind == FLOW_LEAVE ||
                      (f->kind == FLOW_SESSION && f->command <= SESS_REVOKE);

        f->reason = (uint8_t)why;
        flow_end(f, wanted ? FLOW_OK : FLOW_GONE);
    }
}

static void end_known(struct flow *f, struct routes *r, const struct place_ans *a, msec_t now_ms)
{
    assert(f->kind == FLOW_POLL && f->todo == FLOW_ASK);
    f->known = true;
    flow_place_ans(f, r, a, now_ms);
    assert(f->todo == FLOW_DONE);
}

/* The map says where the segment is to which the ticket's is on its way. */
static bool is_known_moving(struct flow *f, const struct routes *r, msec_t now_ms,
                            struct place_ans *a)
{
    seg_id heir = replicas_heads_for(f->replicas, f->node, &f->token);
    struct route_owner o;

    return heir != 0 && routes_owner(r, heir, &o) == 0 && o.seg == heir && !o.lost &&
           replicas_place_moving(f->replicas, &f->node, heir, o.node, &f->token, now_ms, a);
}

static void next_poll(struct flow *f, struct routes *r, msec_t now_ms)
{
    enum gone_reason why = flow_ask_owner(f, r, flow_ticket(f)->seg, now_ms);
    struct place_ans a;

    if (SQ_UNLIKELY(why != GONE_NREASONS))
        gone(f, r, why, now_ms);
    else if (f->replicas != NULL && f->todo == FLOW_ASK &&
             (replicas_place(f->replicas, f->node, f->serving, &f->token, now_ms, &a) ||
              is_known_moving(f, r, now_ms, &a)))
        end_known(f, r, &a, now_ms);
}

static inline void start(struct flow *f, enum flow_kind kind, struct token t, msec_t now_ms)
{
    memset(f, 0, sizeof(*f));
    f->kind = f->asks = kind;
    f->todo = FLOW_WAIT_MAP;
    f->token = t;
    f->deadline_ms = now_ms + FLOW_TIMEOUT_MS;
}

/* False: it has ended. */
static bool may_join(struct flow *f, struct routes *r, const struct route_queue *q,
                     unsigned lane)
{
    if (q == NULL) {
        flow_end(f, routes_version(r) > 0 ? FLOW_NO_QUEUE : FLOW_UNAVAIL);
        return false;
    }
    f->queue = q->map.id;
    f->lane = f->join_lane = (uint8_t)lane;
    f->join_client = f->token.client;
    if (q->map.state == QUEUE_CLOSED)
        flow_end(f, FLOW_CLOSED);
    else if (q->map.state == QUEUE_FULL)
        flow_end(f, FLOW_FULL);
    return f->todo != FLOW_DONE;
}

void flow_join(struct flow *f, struct routes *r, const struct route_queue *q, unsigned lane,
               msec_t now_ms)
{
    start(f, FLOW_JOIN, f->token, now_ms);
    if (may_join(f, r, q, lane))
        flow_ask_tail(f, r, now_ms);
}

void flow_replace(struct flow *f, struct routes *r, const struct route_queue *q, unsigned lane,
                  const struct token *old, msec_t now_ms)
{
    start(f, FLOW_JOIN, f->token, now_ms);
    if (may_join(f, r, q, lane))
        replace_begin(f, r, old, now_ms);
}

void flow_poll(struct flow *f, struct routes *r, struct replicas *known, const struct token *t,
               msec_t now_ms)
{
    start(f, FLOW_POLL, *t, now_ms);
    f->replicas = known;
    next_poll(f, r, now_ms);
}

void flow_leave(struct flow *f, struct routes *r, const struct token *t, msec_t now_ms)
{
    start(f, FLOW_LEAVE, *t, now_ms);
    next_poll(f, r, now_ms);
}

void flow_give_up(struct flow *f, struct routes *r, const struct token *t, msec_t now_ms)
{
    start(f, FLOW_LEAVE, *t, now_ms);
    f->spares = SPARES_ADMITTED;
    next_poll(f, r, now_ms);
}

void flow_give_back(struct flow *f, struct routes *r, const struct token *t, msec_t now_ms)
{
    start(f, FLOW_LEAVE, *t, now_ms);
    f->spares = SPARES_KEPT;
    next_poll(f, r, now_ms);
}

static bool hears(const struct replicas *known, node_no node)
{
    const struct stream *st = map_get_ptr(&known->streams, node);

    return st != NULL && st->up;
}

bool flow_leave_again(struct flow *f, struct routes *r, struct replicas *known, uint32_t *i,
                      msec_t now_ms)
{
    struct revoked_row *x;

    while ((x = leaves_next(&known->leaves, i, now_ms)) != NULL) {
        struct token t = { .seg = x->seg, .number = x->number };
        struct route_owner o;

        if (routes_owner(r, x->seg, &o) < 0 || o.lost || o.node == x->mark || !hears(known, o.node))
            continue;
        x->mark = o.node;
        flow_leave(f, r, &t, now_ms);
        return true;
    }
    return false;
}

void flow_contact(struct flow *f, struct routes *r, const struct token *t, msec_t now_ms)
{
    start(f, FLOW_CONTACT, *t, now_ms);
    next_poll(f, r, now_ms);
}

void flow_session(struct flow *f, struct routes *r, const struct token *t,
                  enum sess_command command, int64_t until_s, msec_t now_ms)
{
    start(f, FLOW_SESSION, *t, now_ms);
    f->command = (uint8_t)command;
    f->until_s = until_s;
    next_poll(f, r, now_ms);
}

void flow_renew(struct flow *f, struct routes *r, const struct token *t, int64_t until_s,
                msec_t now_ms)
{
    start(f, FLOW_SESSION, *t, now_ms);
    f->command = SESS_EXTEND;
    f->until_s = until_s;
    f->renews = true;
    next_poll(f, r, now_ms);
}

void flow_let_go(struct flow *f)
{
    if (f->hold_ms != 0 && f->todo == FLOW_WAIT_MAP)
        flow_end(f, FLOW_OK);
}

void flow_place_ans(struct flow *f, struct routes *r, const struct place_ans *a, msec_t now_ms)
{
    if (f->todo != FLOW_ASK)
        return; /* arrival after the deadline */
    if (f->hold_ms != 0) {
        hold_ans(f, a, now_ms);
        return;
    }
    if (SQ_UNLIKELY(f->step == REPLACE_LOOK || f->step == REPLACE_CHECK) &&
        replace_looked(f, r, a, now_ms))
        return;
    switch ((enum place_state)a->state) {
    case PLACE_WAITING:
        f->position = a->position;
        f->no_place = a->reason;
        f->poll_after_ms = a->poll_after_ms;
        flow_end(f, f->kind == FLOW_JOIN ? FLOW_EXISTING : FLOW_OK);
        break;
    case PLACE_ADMITTED:
        flow_admitted(f, a->released_at_ms, a->pass_expires_s);
        flow_end(f, f->kind == FLOW_JOIN ? FLOW_EXISTING : FLOW_OK);
        break;
    case PLACE_GONE:
        gone(f, r, (enum gone_reason)a->reason, now_ms);
        break;
    case PLACE_BUSY:
        flow_wait_fence(f, now_ms);
        break;
    case PLACE_MOVED:
        flow_follow(f, r, a->moved_to, now_ms);
        break;
    default:
        flow_wait_map(f, now_ms);
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

/* A subject must not have two places. A key only saves a second one: nobody is sent away for
 * it while a member of the directory is gone. */
static void join_bare(struct flow *f, struct routes *r, msec_t now_ms)
{
    assert(f->keyed && !f->bare); /* only a key may be left out, and once */
    f->bare = true;
    f->named = false; /* nothing finds what it gets */
    f->todo = FLOW_WAIT_MAP;
    flow_ask_tail(f, r, now_ms);
}

/* True: the node that has the ticket is asked by the same join, for only that one knows its device, and
 * counts the joins that have it. Not about one of another lane: if it is gone by then, the join gets a place
 * there. Its pass works with its own device all the same. whose: it was one that says so of another. */
static __attribute__((noinline)) bool ask_whose(struct flow *f, struct routes *r, bool whose, msec_t now_ms)
{
    struct route_owner o;
    int rc = routes_owner(r, f->token.seg, &o);

    if (SQ_UNLIKELY(rc < 0 && rc != SQ_EGONE)) {
        flow_wait_map(f, now_ms); /* the map is older than that ticket: then it is found anew */
        return true;
    }
    if (rc < 0 || o.lost || o.node == f->node || o.lane != f->join_lane)
        return false;
    if (!whose)
        f->todo = FLOW_WAIT_MAP; /* however often the tail was asked before */
    f->found_client = (uint8_t)f->token.client;
    f->token.client = f->join_client;
    flow_ask(f, o.seg, o.seg, o.node, now_ms);
    f->whose = f->todo == FLOW_ASK;
    f->keyed = false; /* its key has a ticket: it is not left out any more */
    return true;
}

/* The ticket that a join has found is asked how it stands. */
static void ask_found(struct flow *f, struct routes *r, msec_t now_ms)
{
    assert(f->kind == FLOW_JOIN && f->step == REPLACE_NONE);
    f->asks = FLOW_POLL;
    f->todo = FLOW_WAIT_MAP;
    next_poll(f, r, now_ms);
}

/* The node that has the ticket, as another one had said, has answered. True: that is all, or it is polled. */
static __attribute__((noinline)) bool whose_ans(struct flow *f, struct routes *r, const struct append_ans *a,
                                                msec_t now_ms)
{
    f->whose = false;
    if (f->token.device != 0)
        return false;
    if (a->state == APPEND_EXISTING && a->counted == APPEND_COUNTED && a->position > 1) {
        joined(f, a); /* waits for sure: 1 says nothing */
        f->no_place = NO_PLACE_NONE;
        f->counted = true;
        flow_end(f, FLOW_EXISTING);
        return true;
    }
    if (a->state != APPEND_SEALED && (a->state != APPEND_BUSY || a->poll_after_ms != 0))
        return false;
    f->token.client = f->found_client;
    ask_found(f, r, now_ms); /* the name does not lead to it there (any more) */
    return true;
}

static void got(struct flow *f, struct routes *r, const struct append_ans *a, msec_t now_ms)
{
    joined(f, a);
    f->fresh = true;
    f->counted = false;
    if (f->step != REPLACE_NONE) {
        replace_joined(f, r, now_ms);
        return;
    }
    if (a->state == APPEND_ENTERED)
        flow_admitted(f, a->released_at_ms, a->pass_expires_s);
    flow_end(f, FLOW_OK);
    if (a->position != 0 && a->position <= routes_entry(r, f->queue))
        hold_begin(f, now_ms);
}

/* The node that has the ticket now says how it stands. */
static void found(struct flow *f, struct routes *r, const struct append_ans *a, bool whose, msec_t now_ms)
{
    joined(f, a);
    f->fresh = false;
    f->alien = a->position == APPEND_ALIEN;
    f->counted = a->counted == APPEND_COUNTED;
    if ((SQ_UNLIKELY(f->token.device != 0) || (!f->counted && f->step == REPLACE_NONE)) && !f->alien &&
        ask_whose(f, r, whose, now_ms))
        return;
    if (f->step != REPLACE_NONE)
        replace_joined(f, r, now_ms);
    else
        ask_found(f, r, now_ms);
}

void flow_append_ans(struct flow *f, struct routes *r, const struct append_ans *a,
                     msec_t now_ms)
{
    bool whose;

    if (f->todo != FLOW_ASK)
        return;
    assert(f->asks == FLOW_JOIN);
    whose = f->whose;
    if (SQ_UNLIKELY(whose) && whose_ans(f, r, a, now_ms))
        return;
    switch ((enum append_state)a->state) {
    case APPEND_OK:
    case APPEND_ENTERED: /* also its pass is here */
        got(f, r, a, now_ms);
        break;
    case APPEND_EXISTING:
        found(f, r, a, whose, now_ms);
        break;
    case APPEND_BUSY:
        if (a->poll_after_ms == 0)
            flow_end(f, FLOW_UNAVAIL);
        else if (f->keyed && !f->bare && !f->lost && !whose &&
                 now_ms >= f->deadline_ms - FLOW_TIMEOUT_MS + FLOW_KEY_MS)
            join_bare(f, r, now_ms);
        else
            flow_pause(f, now_ms + a->poll_after_ms, now_ms, FLOW_UNAVAIL);
        break;
    case APPEND_SEALED:
        /* The chain's next open one is the successor, if the map has it already: nobody
         * skips a segment that may still be open. */
        routes_sealed(r, f->seg);
        flow_ask_tail(f, r, now_ms);
        break;
    case APPEND_UNKNOWN:
        flow_wait_map(f, now_ms);
        break;
    default:
        flow_end(f, FLOW_UNAVAIL);
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
            replace_dropped(f, r, (enum drop_state)a->state, now_ms);
        else
            flow_end(f, a->state == DROP_INSIDE || a->state == DROP_NAMED ? FLOW_INSIDE : FLOW_OK);
        break;
    case DROP_BUSY:
        flow_wait_fence(f, now_ms);
        break;
    case DROP_MOVED:
        flow_follow(f, r, a->moved_to, now_ms);
        break;
    default:
        flow_wait_map(f, now_ms);
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
        flow_end(f, FLOW_OK);
        break;
    case SESS_GONE:
        f->until_s = a->until_s;
        gone(f, r, GONE_FINISHED, now_ms);
        break;
    case SESS_BUSY:
        flow_wait_fence(f, now_ms);
        break;
    case SESS_MOVED:
        flow_follow(f, r, a->moved_to, now_ms);
        break;
    default:
        flow_wait_map(f, now_ms);
        break;
    }
}

void flow_contact_ans(struct flow *f, struct routes *r, const struct contact_ans *a, msec_t now_ms)
{
    static const uint8_t ends[] = { [CONTACT_OK] = FLOW_OK, [CONTACT_INSIDE] = FLOW_INSIDE,
                                    [CONTACT_FULL] = FLOW_FULL };

    if (f->todo != FLOW_ASK)
        return;
    assert(f->asks == FLOW_CONTACT);
    switch ((enum contact_state)a->state) {
    case CONTACT_OK:
    case CONTACT_INSIDE:
    case CONTACT_FULL:
        flow_end(f, (enum flow_result)ends[a->state]);
        break;
    case CONTACT_GONE:
        gone(f, r, (enum gone_reason)a->reason, now_ms);
        break;
    case CONTACT_BUSY:
        flow_wait_fence(f, now_ms);
        break;
    case CONTACT_MOVED:
        flow_follow(f, r, a->moved_to, now_ms);
        break;
    default:
        flow_wait_map(f, now_ms);
        break;
    }
}

/* Is the node of a ticket that was found asked to count this join? Of a device: to know it. */
static bool is_counted_there(const struct flow *f)
{
    return f->whose && f->token.device == 0;
}

static void unanswered(struct flow *f, msec_t now_ms)
{
    if (f->hold_ms != 0)
        flow_end(f, FLOW_OK);
    else if (f->asks == FLOW_JOIN && !f->named && !is_counted_there(f))
        flow_end(f, FLOW_UNAVAIL);
    else
        flow_wait_map(f, now_ms); /* a ticket that was found is found anew, and counted then */
    f->lost = f->lost || f->asks == FLOW_JOIN;
    f->whose = false;
}

void flow_lost(struct flow *f, msec_t now_ms)
{
    if (f->todo != FLOW_ASK)
        return;
    f->unsure = f->unsure || flow_gives_back(f);
    unanswered(f, now_ms);
}

void flow_unreached(struct flow *f, msec_t now_ms)
{
    if (f->todo != FLOW_ASK)
        return;
    if (f->asks == FLOW_JOIN && !f->lost && !is_counted_there(f))
        flow_end(f, FLOW_UNAVAIL);
    else
        unanswered(f, now_ms);
}

/* Did a join come to nothing because the lane has no room? */
static bool is_full(const struct flow *f, const struct routes *r)
{
    struct route_tail t;

    return f->asks == FLOW_JOIN && f->todo == FLOW_WAIT_MAP &&
           routes_tail(r, f->queue, f->lane, &t) == SQ_EFULL;
}

/* An ask under way is cut off, too. */
static void at_deadline(struct flow *f, struct routes *r, msec_t now_ms)
{
    struct place_ans a;

    if (f->replicas != NULL &&
        replicas_unanswered(f->replicas, f->node, f->serving, &f->token, now_ms, &a)) {
        f->todo = FLOW_ASK;
        end_known(f, r, &a, now_ms);
    } else {
        flow_end(f, f->hold_ms != 0 ? FLOW_OK : is_full(f, r) ? FLOW_FULL : FLOW_UNAVAIL);
    }
}

void flow_retry(struct flow *f, struct routes *r, msec_t now_ms)
{
    if (f->todo == FLOW_DONE)
        return;
    if (f->hold_ms != 0 && f->todo == FLOW_WAIT_MAP)
        hold_look(f, r, now_ms);
    else if (now_ms >= f->deadline_ms)
        at_deadline(f, r, now_ms);
    else if (f->todo == FLOW_WAIT_MAP && f->asks == FLOW_JOIN)
        flow_ask_tail(f, r, now_ms);
    else if (f->todo == FLOW_WAIT_MAP)
        next_poll(f, r, now_ms);
}
