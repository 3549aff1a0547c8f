/* lead.h: one of several managers: its lease, its copy of the store, terms. */
#ifndef SEGQ_SIM_LEAD_H
#define SEGQ_SIM_LEAD_H

#include "tests/lib/sim/state.h"

void lead_start(struct sim *s, struct proc *p);
void lead_stop(struct sim *s, struct proc *p);
void lead_flush(struct sim *s, struct proc *p);
void lead_event(struct sim *s, struct proc *p, const struct event *e);
void lead_link_breaks(struct sim *s, struct proc *p);

#endif
