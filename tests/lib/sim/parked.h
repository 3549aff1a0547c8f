/* parked.h: joins that wait at a segment node for another's word: what was asked, and, once it is
 * answered, what a join's answer is checked for. */
#ifndef SEGQ_SIM_PARKED_H
#define SEGQ_SIM_PARKED_H

#include "tests/lib/sim/state.h"

/* Rows of the batch that have no answer among these n. */
void parked_wait(struct sim *s, struct proc *p, peer_no peer, uint64_t rid, const struct msg_append *g,
                 const struct append_ans *ans, uint32_t n);
/* Before the turn is over: whose answers leave with it get a contact, as others do. */
void parked_ask(struct sim *s, struct proc *p);
/* It is written: answers in the outbox are checked. */
void parked_answered(struct sim *s, struct proc *p);
/* Nobody waited for longer than the bound. */
void parked_bound(struct sim *s, const struct proc *p);
/* A link has ended (0: all, and the table with them). */
void parked_forget(struct proc *p, peer_no peer);

#endif
