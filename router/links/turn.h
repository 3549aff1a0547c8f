/* turn.h: what a segment node says until it is answered: somebody in line has their turn, or soon has it. Shell.
 *
 * A turn becomes a call in the queue that `turn_notice` names, POST /turns, or, of a browser whose push service the
 * operator has named, one that is sealed for it. Its key is made of the ticket and the word, so it is one task
 * however often this comes. */
#ifndef SEGQ_ROUTER_TURN_H
#define SEGQ_ROUTER_TURN_H

#include "router/state/router.h"

/* r->tasking may be NULL. */
void turn_heard(struct router *r, node_no node, const struct msg_turn *m);

#endif
