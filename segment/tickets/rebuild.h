/* rebuild.h: a segment that was lost with its node comes back with its tickets' polls. */
#ifndef SEGQ_SEG_TICKETS_REBUILD_H
#define SEGQ_SEG_TICKETS_REBUILD_H

#include "segment/core/location.h"
#include "segment/core/state.h"

#define SEGTAB_REBUILD_MAX (1u << 24) /* numbers of a segment that is to be rebuilt */

/* Takes the releases that the order names; SQ_ENOMEM: the segment must go again. */
SQ_CHECK int segtab_rebuild_begin(struct segtab *t, struct seg *g,
                                  const struct msg_seg_open *m);
/* A poll of a ticket that is neither alive nor released. false: it is dead. */
bool segtab_rebuild_poll(struct segtab *t, const struct location *s);
void segtab_rebuild_leave(struct segtab *t, const struct location *s);
void segtab_rebuild_tick(struct segtab *t, struct seg *g);
/* Tickets that may be released now: those with no unknown number before them. */
uint32_t segtab_rebuild_ready(struct seg *g);
/* first .. first + n - 1 are inside, or were. */
SQ_CHECK int segtab_rebuild_released(struct segtab *t, struct seg *g, uint32_t first,
                                     uint32_t n, int64_t at_ms);

#endif
