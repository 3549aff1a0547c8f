/* turns.h: people who are told that they are let in (I14): each at most once, never before its release is
 * stored, and each that is let in, unless it ended or its node was lost. */
#ifndef SEGQ_SIM_TURNS_H
#define SEGQ_SIM_TURNS_H

#include "tests/lib/sim/state.h"

/* Behind a join that was answered: some have a contact in the same turn. */
void turns_ask(struct sim *s, struct proc *node, const struct append_req *q, const struct append_ans *a);
/* That turn is written down. */
void turns_asked(struct sim *s, const struct append_req *q, const struct append_ans *a);
/* A router hears that a ticket is let in; it may have no task node now, or its answer gets lost. */
void turns_heard(struct sim *s, struct proc *router, peer_no node, const struct msg_turn *m);
void turns_waits(struct sim *s, const struct ticket *t); /* its node says so */
void turns_end(struct sim *s);

#endif
