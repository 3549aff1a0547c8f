/* count.h: figures and lists of what is here: for metrics and the simulation. */
#ifndef SEGQ_SEG_NODE_COUNT_H
#define SEGQ_SEG_NODE_COUNT_H

#include "segment/core/opts.h"

struct seg_status;
struct segtab;
struct segtab_counts;

void segtab_count(const struct segtab *t, struct segtab_counts *c);
/* For the simulation: calls fn for every ticket that is waiting here, in order per
 * segment: the token's (seg, number) and the hosting segment. */
void segtab_each_waiting(const struct segtab *t, void (*fn)(void *ctx, seg_id host,
                         seg_id seg, uint32_t number), void *ctx);
/* Also: every segment here, as it would be reported. */
void segtab_each_seg(const struct segtab *t, void (*fn)(void *ctx,
                     const struct seg_status *s), void *ctx);

#endif
