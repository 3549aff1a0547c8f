/* players.h: who joins, polls, leaves, vanishes, comes back late. */
#ifndef SEGQ_SIM_PLAYERS_H
#define SEGQ_SIM_PLAYERS_H

#include "tests/lib/sim/state.h"

void players_event(struct sim *s, const struct event *e);
bool players_over(const struct sim *s);

#endif
