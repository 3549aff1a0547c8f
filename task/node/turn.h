/* turn.h: the end of a turn: tasktab_turn(), tasktab_written(), tasktab_idle_ms(). Pure. */
#ifndef SEGQ_TASKTAB_TURN_H
#define SEGQ_TASKTAB_TURN_H

#include "task/node/table.h"

#endif
