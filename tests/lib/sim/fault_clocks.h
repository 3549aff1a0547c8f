/* fault_clocks.h: wall clocks of processes, and which is true. */
#ifndef SEGQ_SIM_FAULT_CLOCKS_H
#define SEGQ_SIM_FAULT_CLOCKS_H

#include "tests/lib/sim/state.h"

int64_t clock_wall(const struct proc *p); /* as this process sees it */
struct seg_now clock_now(const struct proc *p);
int64_t clock_true(const struct sim *s, int64_t stamp_ms); /* whosever clock said it */

#endif
