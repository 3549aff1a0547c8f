/* engine.h: what every part uses: memory, events in time order, failing, notes, the clock. */
#ifndef SEGQ_SIM_ENGINE_H
#define SEGQ_SIM_ENGINE_H

#include "tests/lib/sim/state.h"

void *sim_alloc(size_t n); /* zeroed; exits without memory */
void *sim_grow(void *v, size_t *cap, size_t need, size_t size);
void sim_at(struct sim *s, usec_t at, struct event e);
void sim_after_ms(struct sim *s, double ms, struct event e);
void sim_fail(struct sim *s, const char *fmt, ...) SQ_PRINTF(2, 3);
void sim_note(struct sim *s, const char *fmt, uint64_t a, uint64_t b, uint64_t c,
              uint64_t d, uint64_t e);
msec_t sim_ms(const struct sim *s);
int64_t sim_wall(const struct sim *s);
double sim_rand(struct sim *s, double lo, double hi);

#endif
