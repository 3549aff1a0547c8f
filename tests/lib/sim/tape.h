/* tape.h: segment nodes' journals. */
#ifndef SEGQ_SIM_TAPE_H
#define SEGQ_SIM_TAPE_H

#include "tests/lib/sim/state.h"

void tape_log(void *proc, const struct jrec *r);
void tape_flush(struct proc *p);
void tape_lose(struct proc *p); /* what was not flushed */
void tape_wipe(struct proc *p); /* the disk is gone, too */
void tape_snap(struct proc *p); /* a slice of a snapshot */
void tape_replay(struct proc *p, struct segtab *t);
void tape_check(struct proc *p, const struct segtab_opts *o);
void tape_fini(struct proc *p);

#endif
