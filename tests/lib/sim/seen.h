/* seen.h: polls that routers answered by themselves, at the node that hears of them. */
#ifndef SEGQ_SIM_SEEN_H
#define SEGQ_SIM_SEEN_H

#include "tests/lib/sim/state.h"

/* The node has taken them: I-R3, nobody of them times out before the next poll, as told, is late by
 * the idle time. */
void seen_taken(struct sim *s, const struct proc *node, const struct msg_seen *m);

#endif
