/* absorbed.h: what a segment has absorbed by its node's word, against what the aliases say.
 *
 * While an alias leads to a segment whose node has not confirmed that it has those tickets, the
 * segment has a missing source (s->missing_source), and its contents are uncertain. */
#ifndef SEGQ_QUEUEMNG_STATE_ABSORBED_H
#define SEGQ_QUEUEMNG_STATE_ABSORBED_H

#include "common/base/base.h"

struct mng;
struct mseg;
struct seg_status;

/* True: its node has said so. */
bool seg_has_absorbed(const struct mseg *s, seg_id id);
/* Brings s->missing_source up to date: after the aliases to it have changed. */
void seg_check_absorbed(struct mseg *s);
/* Adds one. Without memory the step fails, and the source keeps waiting. */
void seg_add_absorbed(struct mng *m, struct mseg *s, seg_id id);
/* All of them anew, by its node's full report. */
void seg_set_absorbed(struct mng *m, struct mseg *s, const struct seg_status *st);
/* Notes that its node has confirmed a commit: all that aliases lead to it is in it. */
void seg_set_heard(struct mng *m, struct mseg *s);

#endif
