/* slots.h: who is inside: never more than max_active. */
#ifndef SEGQ_SIM_SLOTS_H
#define SEGQ_SIM_SLOTS_H

#include "tests/lib/sim/state.h"

void slots_check(struct sim *s, unsigned queue, int64_t ordered_ms); /* after a pop */

#endif
