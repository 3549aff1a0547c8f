/* flow.h: one public request's way through the cluster, decision by decision. Pure.
 *
 * A flow is what a router keeps while a join, poll, leave or session command is under way.
 * flow_join(), flow_poll() ... and flow_append_ans(), flow_place_ans() ... set what to do next
 * (`todo`); the shell (or the simulation) does it:
 *
 *   join:  tail of the lane -> ask -> OK | sealed: the successor -> ask again
 *                                     | busy, for a time that it names: the node asks another
 *                                       one whether this subject has a ticket: ask again
 *                                     | existing, at another node: join there, to be counted
 *                                     | existing: ask its owner, as for a poll; if it is
 *                                       gone meanwhile, join again
 *   poll:  owner of the token's segment -> known here: answer
 *                                       -> ask -> answer | busy, moved or unknown: wait for
 *                                                          a newer map, ask again
 *   leave, session: like poll
 *   contact: like poll; FULL ends it
 *   renewal: a session that never waits: the request is let in without it, too
 *   replacement: a join that names an older ticket (steps.h)
 *   direct entry: the place of a join is within the entry of its queue (queue_stats.entry; the
 *           manager decides it: queuemng/release/credit.h), so its answer is held, and it is
 *           polled now and then, for FLOW_HOLD_MS at most. Admitted: the answer has the pass.
 *           Whatever else happens the answer is its ticket
 * A flow never hangs: at deadline_ms it ends with 503. One that cannot go on waits for a newer
 * map, but not long: what is missing may come without one. */
#ifndef SEGQ_FLOW_H
#define SEGQ_FLOW_H

#include "common/ticket/token.h"
#include "router/flow/routes.h"

struct replicas;

#define FLOW_TIMEOUT_MS 2000
#define FLOW_RENEW_MS   250 /* a renewal: the request that it goes with waits no longer */
#define FLOW_BUSY_MS    20
#define FLOW_KEY_MS     1000 /* longest time that a join asks whether its key has a ticket */
#define FLOW_PARK_MS    1500 /* left: else such a join does not wait at a node, which says "busy" a second later */
#define FLOW_HOLD_MS    300 /* from its ticket on: a join waits for its admission */

enum flow_kind { FLOW_JOIN, FLOW_POLL, FLOW_LEAVE, FLOW_SESSION, FLOW_CONTACT };

enum flow_todo {
    FLOW_ASK,      /* send the request of kind `asks` to `node` */
    FLOW_WAIT_MAP, /* call flow_retry() when the map has changed, or at `wake_ms` */
    FLOW_DONE,     /* `result` */
};

enum flow_result {
    FLOW_OK,         /* join: 201; poll: 200; leave, session: 204 */
    FLOW_EXISTING,   /* join: 200 */
    FLOW_GONE,       /* 410 and reason */
    FLOW_NO_QUEUE,   /* 404 queue_not_found */
    FLOW_CLOSED,     /* 403 queue_closed */
    FLOW_FULL,       /* 503 queue_full */
    FLOW_UNAVAIL,    /* 503 queue_unavailable */
    /* a replacement failed; the older ticket is unchanged: */
    FLOW_OTHER,      /* 404 ticket_unknown: it is another queue's */
    FLOW_INSIDE,     /* 409 conflict: it was let in; also a leave that spares it */
    FLOW_NAMED,      /* 403 not_eligible: it has another subject than the join */
};

enum spares { /* tickets that a leave spares; then FLOW_INSIDE */
    SPARES_NONE,
    SPARES_ADMITTED,
    SPARES_KEPT, /* a place that another join was answered with, too */
};

enum replace_step { /* steps.h draws them */
    REPLACE_NONE,
    REPLACE_STAY,
    REPLACE_LOOK,
    REPLACE_JOIN,
    REPLACE_CHECK,
    REPLACE_CLEAR,
    REPLACE_LEAVE,
    REPLACE_UNDO,
};

struct flow {
    enum flow_kind kind;
    enum flow_kind asks; /* FLOW_ASK: the kind of the request: a join polls a ticket that it
                          * found, or its own while it is held */
    enum flow_todo todo;
    enum flow_result result;
    uint8_t tries;
    uint8_t looks;       /* polls of a held join */
    msec_t deadline_ms, wake_ms;
    msec_t hold_ms;      /* a held join is answered by then; 0: it is not held */
    node_no node;  /* FLOW_ASK */
    seg_id seg;    /* FLOW_ASK: the segment to name in the request */
    /* join */
    queue_id queue;
    bool keyed; /* set by the caller behind flow_join(): its subject is only a key; none of which a ticket is known */
    bool named; /* likewise: its subject is a name, which has one place however often it is asked for */
    bool lost;  /* the link ended under a join with a name: it asks until its deadline */
    bool bare;  /* joins without its key, since no node knew whether that has a ticket */
    bool whose; /* another node has its ticket, as it seems: that one is asked, which counts the join */
    uint8_t found_client; /* whose: that ticket's */
    uint8_t lane;
    uint8_t join_lane, join_client; /* lane as asked: a found ticket has its own */
    /* poll, leave, session: the ticket; join: filled from the answer; REPLACE_LOOK: the older
     * ticket's place and client */
    struct token token;
    struct token old;       /* older ticket of a replacement */
    uint8_t step;           /* enum replace_step */
    bool alien;             /* the place that its name has is another device's */
    bool fresh;             /* the new place did not exist before */
    bool counted;           /* not fresh, and its node has counted this join, too */
    bool unsure;            /* given back perhaps: the link ended */
    bool old_gone;          /* with `reason` */
    node_no old_node;       /* node that has said that the older ticket does not wait (any more) */
    uint8_t undone;         /* REPLACE_UNDO: enum flow_result: its end */
    uint8_t spares;         /* leave: enum spares */
    /* session */
    uint8_t command; /* enum sess_command */
    int64_t until_s; /* extend: the end that is asked for; then: the end of the session. Use:
                      * its number; FLOW_GONE: that of the use that came first, 0: not known */
    bool renews;     /* extend, with a pass in the answer; it ends where others would wait */
    /* the answer, when result is FLOW_OK or FLOW_EXISTING or FLOW_GONE */
    bool admitted;
    uint8_t reason;           /* enum gone_reason */
    uint64_t position;
    uint8_t no_place;         /* enum no_place, where position is 0 */
    uint32_t poll_after_ms;
    int64_t released_at_ms, pass_expires_s;
    seg_id serving;           /* segment that answered */
    struct replicas *replicas; /* ref: a poll may be answered from them; NULL: not this one */
    bool known;               /* FLOW_OK, from the replica of `node`: no node has answered */
};

/* token.client and token.subject_hash are set by the caller before a join. q NULL: there is no
 * such queue. */
void flow_join(struct flow *f, struct routes *r, const struct route_queue *q, unsigned lane,
               msec_t now_ms);
/* A join in place of an older ticket. */
void flow_replace(struct flow *f, struct routes *r, const struct route_queue *q, unsigned lane,
                  const struct token *old, msec_t now_ms);
/* known: what may be told without asking the node; NULL: it is asked. */
void flow_poll(struct flow *f, struct routes *r, struct replicas *known, const struct token *t,
               msec_t now_ms);
void flow_leave(struct flow *f, struct routes *r, const struct token *t, msec_t now_ms);
/* A leave of a ticket that was not admitted. */
void flow_give_up(struct flow *f, struct routes *r, const struct token *t, msec_t now_ms);
/* A leave of the ticket, with a name, that a join which failed has got (flow_got()); but not if another one
 * has it, too. */
void flow_give_back(struct flow *f, struct routes *r, const struct token *t, msec_t now_ms);
/* The leave of a ticket of which `known` has heard (replicas.h) begins at a node that has not heard of
 * it since it is reached. *i: as leaves_next(). False: there is no further one. */
bool flow_leave_again(struct flow *f, struct routes *r, struct replicas *known, uint32_t *i,
                      msec_t now_ms);

/* The ticket gets a contact, or loses it: what is asked is the caller's. */
void flow_contact(struct flow *f, struct routes *r, const struct token *t, msec_t now_ms);
void flow_session(struct flow *f, struct routes *r, const struct token *t,
                  enum sess_command command, int64_t until_s, msec_t now_ms);

/* A session that is extended because its bearer is at work: FLOW_SESSION, SESS_EXTEND. */
void flow_renew(struct flow *f, struct routes *r, const struct token *t, int64_t until_s,
                msec_t now_ms);

/* The ticket of which a node has just said that it does not wait (any more); NULL: none. */
static inline const struct token *flow_saw_the_end(const struct flow *f, node_no *node)
{
    bool over = f->kind == FLOW_LEAVE
                    ? f->result == FLOW_OK
                    : f->kind == FLOW_POLL && (f->admitted || f->result == FLOW_GONE);

    if (f->kind == FLOW_JOIN) {
        *node = f->old_node;
        return f->old_node != 0 ? &f->old : NULL;
    }
    *node = f->node;
    return over ? &f->token : NULL;
}

/* The ticket of which `node` has just said that it has left; NULL: none. */
static inline const struct token *flow_saw_leave(const struct flow *f, node_no *node)
{
    const struct token *t = flow_saw_the_end(f, node);
    bool said = f->kind == FLOW_POLL && f->result == FLOW_GONE && f->reason == GONE_LEFT && !f->known;
    bool left = f->kind == FLOW_JOIN ? f->result != FLOW_INSIDE : f->kind == FLOW_LEAVE || said;

    return t != NULL && *node != 0 && left ? t : NULL;
}

/* The ticket that a poll, drop or session command asks for. */
static inline const struct token *flow_ticket(const struct flow *f)
{
    return f->step == REPLACE_LEAVE ? &f->old : &f->token;
}

/* Has this join a ticket that it would have to give back? */
static inline bool flow_got(const struct flow *f)
{
    return f->fresh || f->counted;
}

/* FLOW_ASK: does it give a ticket back? */
static inline bool flow_gives_back(const struct flow *f)
{
    return f->spares == SPARES_KEPT || f->step == REPLACE_UNDO;
}

/* FLOW_ASK: the subject of the ticket that replaces the one that a drop names; 0: none does. */
static inline uint64_t flow_heir(const struct flow *f)
{
    if (SQ_UNLIKELY(f->spares == SPARES_ADMITTED))
        return DROP_UNLESS_ADMITTED;
    if (SQ_UNLIKELY(flow_gives_back(f)))
        return f->unsure ? DROP_UNLESS_FOUND : DROP_UNLESS_KEPT;
    return f->step == REPLACE_LEAVE || f->step == REPLACE_CLEAR ? f->token.subject_hash : 0;
}

/* A join: may it wait at the node for another's word (append_req.later)? With only a key it must have the
 * time to go without it. */
static inline bool flow_may_wait(const struct flow *f, msec_t now_ms)
{
    return SQ_LIKELY(!f->keyed) || f->deadline_ms - now_ms >= FLOW_PARK_MS;
}

/* Answers to the request of FLOW_ASK. One that comes after the flow has ended changes nothing. */
void flow_place_ans(struct flow *f, struct routes *r, const struct place_ans *a, msec_t now_ms);
void flow_append_ans(struct flow *f, struct routes *r, const struct append_ans *a, msec_t now_ms);
void flow_drop_ans(struct flow *f, struct routes *r, const struct drop_ans *a, msec_t now_ms);
void flow_session_ans(struct flow *f, struct routes *r, const struct sess_ans *a, msec_t now_ms);
void flow_contact_ans(struct flow *f, struct routes *r, const struct contact_ans *a, msec_t now_ms);
/* Its link broke before the node answered. A join that may have been recorded is sent again only if it
 * has a name, by which it finds its place then: else 503. Polls and leaves try again until the deadline.
 * Never leaves FLOW_ASK behind. */
void flow_lost(struct flow *f, msec_t now_ms);
/* The node cannot be asked now. The same, but a join that has never been asked ends: so a tail that
 * is away holds no crowd in the router. */
void flow_unreached(struct flow *f, msec_t now_ms);
/* The client has gone: a held join does not wait for a pass that nobody would take. */
void flow_let_go(struct flow *f);
void flow_retry(struct flow *f, struct routes *r, msec_t now_ms);

#endif
