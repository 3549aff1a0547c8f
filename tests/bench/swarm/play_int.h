/* play_int.h: what play.c and play_answer.c share. Nobody else includes it. */
#ifndef SEGQ_SWARM_PLAY_INT_H
#define SEGQ_SWARM_PLAY_INT_H

#include "tests/bench/swarm/play.h"

enum example_of { EXAMPLE_GREW, EXAMPLE_DOUBLE, EXAMPLE_LOST, EXAMPLE_ODD };

/* The player's next request, at that time. */
void play_at(struct play *p, uint32_t who, enum player_act act, int64_t due_us);
void play_on_answer(void *ctx, uint32_t who, const struct answer *a);
void play_on_fail(void *ctx, uint32_t who, const char *why);

#endif
