/* absorbed.h: what a segment has absorbed by its node's word, against what the aliases say.
 *
 * While an alias leads to a segment of which its node has not said that it is in it, the segment
 * lacks a source (s->lacks): what it holds is not certain. */
#ifndef SEGQ_QUEUEMNG_STATE_ABSORBED_H
#define SEGQ_QUEUEMNG_STATE_ABSORBED_H

#include "common/base/base.h"

struct mng;
struct mseg;
struct seg_status;

bool seg_has_absorbed(const struct mseg *s, seg_id id);
/* After its aliases changed. */
void seg_look_absorbed(struct mseg *s);
void seg_add_absorbed(struct mng *m, struct mseg *s, seg_id id);
/* From a full report; and one more. Without memory a source keeps waiting. */
void seg_set_absorbed(struct mng *m, struct mseg *s, const struct seg_status *st);
/* It was committed with: whatever leads to it is there. */
void seg_set_heard(struct mng *m, struct mseg *s);

#endif
