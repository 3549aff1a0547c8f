/* lead.h: one of several managers: its lease, its copy of the store, terms. */
#ifndef SEGQ_SIM_LEAD_H
#define SEGQ_SIM_LEAD_H

#include "tests/lib/sim/state.h"

void lead_start(struct sim *s, struct proc *p);
void lead_stop(struct sim *s, struct proc *p);
void lead_flush(struct sim *s, struct proc *p);
void lead_event(struct sim *s, struct proc *p, const struct event *e);
void lead_answer(struct sim *s, struct store_msg *a); /* takes a */
void lead_link_breaks(struct sim *s, struct proc *p);
bool lead_begun(const struct proc *p);
bool lead_may_order(const struct sim *s, const struct proc *p);
uint64_t lead_needs(const struct proc *p); /* what the store must have to have all of it */
bool lead_has(const struct proc *p, uint64_t need);

#endif
