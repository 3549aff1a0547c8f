/* opening.h: opening by the clock, lots of the early ones. */
#ifndef SEGQ_SIM_OPENING_H
#define SEGQ_SIM_OPENING_H

#include "tests/lib/sim/state.h"

void opening_json(const struct sim *s, char *out, size_t cap); /* part of a definition */
void opening_map(struct sim *s, const struct map_queue *m);
void opening_stored(struct sim *s, const char *key, const char *val); /* sched/ID */
/* What the answer to a join says of the draw. */
void opening_told(struct sim *s, const struct flow *f);
void opening_joined(struct sim *s, const struct sseg *g, uint64_t position);
void opening_popped(struct sim *s, const struct sseg *g, int64_t ordered_ms);
void opening_look(struct sim *s);
bool opening_is_waiting_for(const struct sim *s, seg_id seg); /* its lots */

#endif
