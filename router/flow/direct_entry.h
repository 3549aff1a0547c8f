/* direct_entry.h: a join whose answer is held for a moment, since it may be let in at once. Pure.
 *
 * Its position is within the entry of its queue (queue_stats.entry), so its place is asked for
 * now and then, for FLOW_HOLD_MS at most. Admitted: the join's answer has the pass already.
 * Whatever else happens the answer is its ticket. Where the manager decides it:
 * queuemng/release/direct_entry.c. Used by flow.c: but for hold_begin(), f->hold_ms is not 0. */
#ifndef SEGQ_ROUTER_FLOW_DIRECT_ENTRY_H
#define SEGQ_ROUTER_FLOW_DIRECT_ENTRY_H

#include "router/flow/flow.h"

/* Begins to wait for its turn: it has its ticket, at a position within the entry. */
void hold_begin(struct flow *f, msec_t now_ms);
/* Asks for its place, when its time has come. */
void hold_look(struct flow *f, struct routes *r, msec_t now_ms);
void hold_ans(struct flow *f, const struct place_ans *a, msec_t now_ms);

#endif
