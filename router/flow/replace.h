/* replace.h: a join that replaces an older ticket, by a claim that names it. Pure.
 *
 *   LOOK --waits--> JOIN --a fresh place--> LEAVE --left, or gone since--> the new place
 *     |               |                      ^ '--let in, named--> UNDO: gives a fresh place back
 *     |               '--one of an earlier try--> CHECK: is it still there? else JOIN again
 *     '--gone--> JOIN --the place of an earlier try--> the new place
 *                  '--a fresh place--> UNDO
 *   STAY: the older ticket is in that lane already: it is polled, and that is all
 *
 * The new place is told only when the old one is left. A second try finds the place of the
 * first: by the subject, or else by a key that the caller makes of the older ticket. Used by
 * flow.c: but for replace_begin(), f->step is not REPLACE_NONE. */
#ifndef SEGQ_ROUTER_FLOW_REPLACE_H
#define SEGQ_ROUTER_FLOW_REPLACE_H

#include "router/flow/flow.h"

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
