/* minimise.h: a failing plan is made as small as it gets: kinds of faults are turned off,
 * players, nodes and time taken away, as long as it still fails in the same way. */
#ifndef SEGQ_SIMMIN_H
#define SEGQ_SIMMIN_H

#include "tests/lib/sim/plan.h"

/* Prints what it finds, and the shortest command that shows it. false: it does not fail. */
bool sim_minimise(uint64_t seed, const char *with);

#endif
