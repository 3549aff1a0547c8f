/* flow.h: one public request's way through the cluster, decision by decision. Pure.
 *
 * A flow is what a router keeps while a join, poll or leave is under way. flow_join(),
 * flow_poll() ... and flow_append_ans(), flow_place_ans() ... set what to do next (`todo`);
 * the shell (or the simulation) does it:
 *
 *   join:  tail of the lane -> ask -> OK | sealed: the successor -> ask again
 *                                     | busy, for a time that it names: the node asks another
 *                                       one whether this subject has a ticket: ask again
 *                                     | existing: ask its owner, as for a poll; if it is
 *                                       gone meanwhile, join again
 *   poll:  owner of the token's segment -> ask -> answer | busy, moved or unknown: wait for
 *                                                          a newer map, ask again
 *   leave, session: like poll
 *   renewal: a session that never waits: the request is let in without it, too
 *   replacement: a join that names an older ticket: look whether that waits, take the new
 *   place, leave the old one (enum replace_step). The new place is told only then
 *   Direct entry: a join that comes to so near a place that it may be let in at once
 *   (stats.entry of its queue) is held: its place is asked for now and then, for
 *   FLOW_HOLD_MS at most. If it is admitted, the join's answer has the pass already.
 * A flow never hangs: at deadline_ms it ends with 503. Who cannot go on waits for a newer
 * map, but not long: what is missing may come without one. */
#ifndef SEGQ_FLOW_H
#define SEGQ_FLOW_H

#include "common/ticket/token.h"
#include "router/flow/routes.h"

#define FLOW_TIMEOUT_MS 2000
#define FLOW_RENEW_MS   250 /* a renewal: the request that it goes with waits no longer */
#define FLOW_BUSY_MS    20
#define FLOW_KEY_MS     1000 /* longest time that a join asks whether its key has a ticket */
#define FLOW_HOLD_MS    300 /* from its ticket on: a join waits for its admission */

enum flow_kind { FLOW_JOIN, FLOW_POLL, FLOW_LEAVE, FLOW_SESSION };

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
    /* of a replacement; the older ticket is what it was: */
    FLOW_OTHER,      /* 404 ticket_unknown: it is another queue's */
    FLOW_INSIDE,     /* 409 conflict: it was let in */
    FLOW_NAMED,      /* 403 not_eligible: it has another subject than the join */
};

/*   LOOK --waits--> JOIN --a place--> LEAVE --left, or gone since--> the new place
 *     |                                 '--let in, named--> UNDO: gives a fresh place back
 *     '--gone--> JOIN --the place of an earlier try--> the new place
 *                  '--a fresh place--> UNDO
 * Whoever tries again finds the place of the first try: by the subject, or else by a key that
 * the caller makes of the older ticket. */
enum replace_step {
    REPLACE_NONE,
    REPLACE_STAY, /* the older ticket is in that lane: it is polled, and that is all */
    REPLACE_LOOK,
    REPLACE_JOIN,
    REPLACE_LEAVE,
    REPLACE_UNDO,
};

struct flow {
    enum flow_kind kind;
    enum flow_kind asks; /* FLOW_ASK: what is sent: a join polls a ticket that it found, and
                          * when it is held */
    enum flow_todo todo;
    enum flow_result result;
    uint8_t tries;
    uint8_t looks;       /* of a held join: how often it has asked */
    msec_t deadline_ms, wake_ms;
    msec_t hold_ms;      /* a held join is answered by then; 0: it is not held */
    node_no node;  /* FLOW_ASK */
    seg_id seg;    /* FLOW_ASK: the segment to name in the request */
    /* join */
    queue_id queue;
    bool keyed; /* set by the caller behind flow_join(): its subject is only a key */
    bool bare;  /* it joins without it: whether that has a ticket could not be found out */
    uint8_t lane;
    uint8_t join_lane, join_client; /* as asked: a found ticket has its own */
    /* poll, leave: the token; join: filled from the answer; REPLACE_LOOK: the older ticket's
     * place and client */
    struct token token;
    struct token old;       /* of a replacement: the older ticket */
    uint8_t step;           /* enum replace_step */
    bool fresh;             /* the new place did not exist before */
    bool old_gone;          /* with `reason` */
    uint8_t undone;         /* enum flow_result: UNDO: how it ends */
    /* session: seg and number of the token are the ticket's */
    uint8_t command; /* enum sess_command */
    int64_t until_s; /* extend: as long; then: as long it lasts */
    bool renews;     /* extend, with a pass in the answer; what would have to wait ends it */
    /* the answer, when result is FLOW_OK or FLOW_EXISTING or FLOW_GONE */
    bool admitted;
    uint8_t reason;           /* enum gone_reason */
    uint64_t position;
    uint8_t no_place;         /* enum no_place, where position is 0 */
    uint32_t poll_after_ms;
    int64_t released_at_ms, pass_expires_s;
    seg_id serving;           /* segment that answered */
};

/* token.client and token.subject_hash are set by the caller before a join. */
void flow_join(struct flow *f, struct routes *r, const struct route_queue *q, unsigned lane,
               msec_t now_ms);
/* A join in place of an older ticket. */
void flow_replace(struct flow *f, struct routes *r, const struct route_queue *q, unsigned lane,
                  const struct token *old, msec_t now_ms);
void flow_poll(struct flow *f, struct routes *r, const struct token *t, msec_t now_ms);
void flow_leave(struct flow *f, struct routes *r, const struct token *t, msec_t now_ms);

void flow_session(struct flow *f, struct routes *r, const struct token *t,
                  enum sess_command command, int64_t until_s, msec_t now_ms);

/* A session that is extended because its bearer is at work: FLOW_SESSION, SESS_EXTEND. */
void flow_renew(struct flow *f, struct routes *r, const struct token *t, int64_t until_s,
                msec_t now_ms);

/* FLOW_ASK: the ticket that a drop names. All other requests name `token`. */
static inline const struct token *flow_dropped(const struct flow *f)
{
    return f->step == REPLACE_LEAVE ? &f->old : &f->token;
}

/* FLOW_ASK: what a drop says of the ticket that replaces the one it names; 0: nothing. */
static inline uint64_t flow_heir(const struct flow *f)
{
    return f->step == REPLACE_LEAVE ? f->token.subject_hash : 0;
}

void flow_place_ans(struct flow *f, struct routes *r, const struct place_ans *a, msec_t now_ms);
void flow_append_ans(struct flow *f, struct routes *r, const struct append_ans *a, msec_t now_ms);
void flow_drop_ans(struct flow *f, struct routes *r, const struct drop_ans *a, msec_t now_ms);
void flow_session_ans(struct flow *f, struct routes *r, const struct sess_ans *a, msec_t now_ms);
/* The node could not be asked, or its link broke before it answered. A join that may have
 * been recorded is not sent again: 503. Polls and leaves try again until the deadline. */
void flow_lost(struct flow *f, struct routes *r, msec_t now_ms);
/* The client has gone: a held join does not wait for a pass that nobody would take. */
void flow_let_go(struct flow *f);
void flow_retry(struct flow *f, struct routes *r, msec_t now_ms);

#endif
