/* ring.h: the rings of turns: what can be served now, and who of them is next. Pure.
 * For the files of this room. An item is a turn in its parent's ring (2 * turn) or a turn's
 * line in its own (2 * turn + 1). */
#ifndef SEGQ_TASK_RING_H
#define SEGQ_TASK_RING_H

#include "task/keys/tree.h"

/* Puts the turn where it now belongs: into its parent's ring if it can be served, out of it
 * if not; and so on upwards. */
void ring_settle(struct tree *t, uint32_t turn);
/* The same of its own line. */
void ring_settle_line(struct tree *t, uint32_t turn);
bool ring_has_line(const struct tree *t, uint32_t turn);
bool ring_has_turn(const struct tree *t, uint32_t turn);
/* The turn whose line is served next, going down from `turn`, whose ring is not empty. */
uint32_t ring_next_line(struct tree *t, uint32_t turn);
/* Bounds its turn after a change of its rule: it is not served for longer than its weight now says. */
void ring_reweigh(struct tree *t, uint32_t turn);
/* The queue that is served next, of all that have somebody who may start: its limiter; 0: none. It
 * has been served once. */
uint32_t ring_next_queue(struct tree *t);
/* The item has been served once. */
void ring_serve(struct tree *t, uint32_t turn, bool line);

#endif
