/* room.h: a lane that has room has a tail. */
#ifndef SEGQ_SIM_ROOM_H
#define SEGQ_SIM_ROOM_H

#include "tests/lib/sim/state.h"

void check_room(struct sim *s, struct proc *mng);

#endif
