/* end.h: what is checked at the end. */
#ifndef SEGQ_SIM_END_H
#define SEGQ_SIM_END_H

#include "tests/lib/sim/state.h"

void check_end(struct sim *s);

#endif
