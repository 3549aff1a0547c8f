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

/* Its node has said so. */
bool seg_has_absorbed(const struct mseg *s, seg_id id);
/* Brings s->lacks up to date: after the aliases to it have changed. */
void seg_look_absorbed(struct mseg *s);
/* One more. Without memory the step fails, and the source keeps waiting. */
void seg_add_absorbed(struct mng *m, struct mseg *s, seg_id id);
/* All of them anew, by its node's full report. */
void seg_set_absorbed(struct mng *m, struct mseg *s, const struct seg_status *st);
/* Its node has confirmed a commit: all that aliases lead to it is in it. */
void seg_set_heard(struct mng *m, struct mseg *s);

#endif
