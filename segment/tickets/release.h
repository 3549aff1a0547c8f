/* release.h: releases: SEG_POP, which skips tickets whose poll is overdue, and which releases may
 * be told. */
#ifndef SEGQ_SEG_TICKETS_RELEASE_H
#define SEGQ_SEG_TICKETS_RELEASE_H

#include "segment/core/state.h"

#define SEGTAB_UNSTORED_MAX 1024 /* rows of one segment: then a pop waits */

/* Does what the order says, once: a repeated tick, or an older one, changes nothing. false:
 * it cannot be done now. */
bool segtab_pop(struct segtab *t, struct seg *g, const struct msg_seg_pop *m);
/* Releases up to n returning tickets, in their order. */
uint32_t segtab_pop_returning(struct segtab *t, struct seg *g, uint32_t n, int64_t at_ms);
/* Releases up to n who wait, oldest first; away: they are not there, and are no-shows at once. */
uint32_t segtab_pop_waiting(struct segtab *t, struct seg *g, uint32_t n, int64_t at_ms,
                            bool away);
/* The record of a release: its pass begins at at_ms. */
void segtab_released(const struct segtab *t, const struct seg *g, struct session *x,
                     int64_t at_ms);
/* Marks its releases up to this pop as stored: they may be told. */
void segtab_stored(struct segtab *t, const struct kept_entry *k);

#endif
