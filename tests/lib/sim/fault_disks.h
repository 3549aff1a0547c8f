/* fault_disks.h: faults of a segment node's disk. */
#ifndef SEGQ_SIM_FAULT_DISKS_H
#define SEGQ_SIM_FAULT_DISKS_H

#include "tests/lib/sim/state.h"

void fault_disk_mended(struct sim *s, struct proc *p);
bool disk_refuses(const struct proc *p); /* what the turn at hand has logged */
void disk_turn(struct sim *s, struct proc *p, size_t bytes); /* so much was written */

#endif
