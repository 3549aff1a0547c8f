/* told.h: positions of two people, as they were told. */
#ifndef SEGQ_SIM_TOLD_H
#define SEGQ_SIM_TOLD_H

#include "tests/lib/sim/state.h"

/* fence_ms: how long its name had been fenced; 0: it was not. */
void told_position(struct sim *s, struct ticket *t, uint64_t position, usec_t as_of,
                   msec_t fence_ms);
void told_lost(struct proc *to, unsigned type, usec_t sent);
void told_arrives(struct proc *to, unsigned type);

#endif
