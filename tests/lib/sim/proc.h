/* proc.h: segment nodes: the shell around their core; what happens to processes. */
#ifndef SEGQ_SIM_PROC_H
#define SEGQ_SIM_PROC_H

#include "tests/lib/sim/state.h"

void proc_start(struct sim *s, struct proc *p);
void proc_stop(struct sim *s, struct proc *p);
void proc_up(struct sim *s, struct proc *p, peer_no peer, const struct proc *other);
void proc_down(struct sim *s, struct proc *p, peer_no peer, const struct proc *other);
void proc_dial_fail(struct sim *s, struct proc *p, const struct proc *other);
void proc_msg(struct sim *s, struct proc *p, const struct conn *c, peer_no peer,
              uint64_t rid, const struct msg *m);
void proc_tick(struct sim *s, struct proc *p);
bool proc_wants(const struct proc *from, const struct proc *to);
struct proc *proc_named(struct sim *s, const char *name);
struct proc *proc_of(struct sim *s, enum sim_who who, unsigned no);
struct proc *proc_add(struct sim *s, enum sim_who who, unsigned no);

#endif
