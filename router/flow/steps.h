/* steps.h: what a flow does next: it asks a node, waits for a newer map, or ends; flow.c chooses.
 * First the steps that all flows share, then those of a join that replaces an older ticket, by a
 * claim that names it. Pure.
 *
 *   LOOK --waits--> JOIN --a fresh place--> LEAVE --left, or gone since--> the new place
 *     |               |                      ^ '--let in, named--> UNDO: gives the place back
 *     |               '--one of an earlier try--> CHECK: is it still there? else JOIN again
 *     |                    '--it waits, and is the earlier one--> CLEAR: it leaves; JOIN again
 *     '--gone--> JOIN --the place of an earlier try--> the new place
 *                  '--a fresh place--> UNDO
 *   STAY: the older ticket is in that lane already: it is polled, and that is all
 *
 * The new place is told only when the old one is left. A second try finds the place of the
 * first: by the subject, or else by a key that the caller makes of the older ticket.
 * A waiting ticket is given up for a later one only: a try that was cut off leaves two tickets of
 * one subject, which two tabs that change lanes crosswise would else give up for each other. CLEAR
 * ends what that try left. But for replace_begin(), f->step is not REPLACE_NONE. */
#ifndef SEGQ_ROUTER_FLOW_STEPS_H
#define SEGQ_ROUTER_FLOW_STEPS_H

#include "router/flow/flow.h"

#define FLOW_AGAIN_MS 100 /* between two asks of a node that could not help */

/* A replacement that gives its place back ends as f->undone says. */
static inline void flow_end(struct flow *f, enum flow_result result)
{
    f->todo = FLOW_DONE;
    f->result = SQ_UNLIKELY(f->step == REPLACE_UNDO) ? (enum flow_result)f->undone : result;
    f->wake_ms = MSEC_NEVER;
}

static inline void flow_admitted(struct flow *f, int64_t released_at_ms, int64_t expires_s)
{
    f->admitted = true;
    f->released_at_ms = released_at_ms;
    f->pass_expires_s = expires_s;
}

/* Waits until wake_ms; where it may not wait any longer it ends at once, with `late`. */
void flow_pause(struct flow *f, msec_t wake_ms, msec_t now_ms, enum flow_result late);
static inline void flow_wait_map(struct flow *f, msec_t now_ms)
{
    flow_pause(f, now_ms + FLOW_AGAIN_MS, now_ms, FLOW_UNAVAIL);
}
/* The segment is being moved: the map that names the new place ends the wait; the next ask
 * is for a move that was given up. */
static inline void flow_wait_fence(struct flow *f, msec_t now_ms)
{
    flow_pause(f, now_ms + FLOW_BUSY_MS, now_ms, FLOW_UNAVAIL);
}

/* Asks `node`, which has the segment `serving`; the request names the segment `name`. */
void flow_ask(struct flow *f, seg_id serving, seg_id name, node_no node, msec_t now_ms);
/* A join: asks the tail of its lane. */
void flow_ask_tail(struct flow *f, struct routes *r, msec_t now_ms);
/* Asks the owner of a ticket's segment, or waits. GONE_NREASONS; else the map says that the
 * ticket is over, and why: f has no next step yet. */
SQ_CHECK enum gone_reason flow_ask_owner(struct flow *f, struct routes *r, seg_id of,
                                         msec_t now_ms);
/* The node that had the ticket names the segment that has it now: asked there at once if the
 * map knows where that is. The token's own segment stays the name in the request. */
void flow_follow(struct flow *f, struct routes *r, seg_id to, msec_t now_ms);
/* The ticket that a join had found is over: it joins again, in a moment, since the node that
 * named it may not have heard. */
void flow_join_again(struct flow *f, msec_t now_ms);

/* ---- a replacement ---- */

/* The first step of a join whose queue, lane and client are in f. */
void replace_begin(struct flow *f, struct routes *r, const struct token *old, msec_t now_ms);
/* An answer to the poll of the older ticket, or of the place that was found. False: it neither
 * waits nor was it let in; the answer means what it means for a poll. */
SQ_CHECK bool replace_looked(struct flow *f, struct routes *r, const struct place_ans *a,
                             msec_t now_ms);
/* Goes on with a place, in f->token. */
void replace_joined(struct flow *f, struct routes *r, msec_t now_ms);
/* The ticket of flow_ticket() was dropped, or may not be. */
void replace_dropped(struct flow *f, struct routes *r, enum drop_state state, msec_t now_ms);
/* The ticket that this step asks for is over. */
void replace_gone(struct flow *f, struct routes *r, enum gone_reason why, msec_t now_ms);

#endif
