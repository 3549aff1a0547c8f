/* segment.h: what is known of one segment, as answers to the questions of the plan. Nothing
 * here gives an order. */
#ifndef SEGQ_QUEUEMNG_STATE_SEGMENT_H
#define SEGQ_QUEUEMNG_STATE_SEGMENT_H

#include "common/base/base.h"

struct mng;
struct mseg;

bool seg_reachable(const struct mseg *s);
/* In a move that we do not know. */
bool seg_is_orphan(const struct mseg *s);
/* What it holds is not certain: in a move that we do not know, or it lacks some. */
bool seg_is_unsure(const struct mseg *s);
/* Lost, or being rebuilt. */
bool seg_is_away(const struct mseg *s);
/* Certainly nobody in it will be popped any more. */
bool seg_dry(const struct mseg *s);
uint64_t seg_bound(const struct mseg *s);
void seg_used(struct mseg *s);
/* Never given before, and never again. */
seg_id seg_id_take(struct mng *m);

#endif
