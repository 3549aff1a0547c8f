/* away.h: tickets at the head of the line whose poll is overdue are passed over. */
#ifndef SEGQ_SEG_TICKETS_AWAY_H
#define SEGQ_SEG_TICKETS_AWAY_H

#include "segment/core/state.h"

#define SEGTAB_AWAY_MAX 4096 /* by one pop */

/* The first tickets of the line, at most n, all overdue by away_ms or all not; into ids. */
uint32_t segtab_away_run(const struct segtab *t, const struct seg *g, uint32_t away_ms,
                         uint32_t n, bool *away, struct ticket_id *ids);
/* Popped, logged, and not there. */
void segtab_away(struct segtab *t, struct seg *g, const struct ticket_id *ids, uint32_t n);

#endif
