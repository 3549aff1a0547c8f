/* stage.h: records that count only when all of them are there: of what was absorbed, and of
 * the segments of a snapshot. All int: 0, SQ_ENOMEM, or SQ_EPROTO (it cannot be so). */
#ifndef SEGQ_SEG_RESTORE_STAGE_H
#define SEGQ_SEG_RESTORE_STAGE_H

#include "segment/core/state.h"

void segtab_stage_free(struct segtab *t);
/* From now on records about seg wait for its last one; 0: none is waited for. */
SQ_CHECK int replay_stage(struct segtab *t, seg_id seg);
bool replay_is_staged(const struct segtab *t, seg_id seg);
SQ_CHECK int replay_on_stage(struct segtab *t, const struct jrec *r);
/* The first record of a snapshot's segment. */
SQ_CHECK int replay_seg_begin(struct segtab *t, const struct jrec *r);

#endif
