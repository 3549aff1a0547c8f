/* turn.h: clocks of partitions; the end of a turn is in table.h. Pure. For this room's files. */
#ifndef SEGQ_TASKTAB_TURN_H
#define SEGQ_TASKTAB_TURN_H

#include "task/table/state.h"

/* The partition's clock, once a turn; not while nothing can be written. */
void tasktab_clock(struct tasktab *t, struct part *p);

#endif
