/* stage.h: what a record does to a segment that is being read again; and records that count only
 * when all of them are there: of what was absorbed, and of the segments of a snapshot. All int: 0,
 * SQ_ENOMEM, or SQ_EPROTO (it cannot be so). */
#ifndef SEGQ_SEG_RESTORE_STAGE_H
#define SEGQ_SEG_RESTORE_STAGE_H

#include "segment/core/state.h"

/* Also one that was absorbed by another here and is not removed yet: its name leads to the
 * other. NULL: none. */
struct seg *replay_seg(struct segtab *t, seg_id id);
SQ_CHECK int replay_new_seg(struct segtab *t, seg_id id, const struct jrec_open *o,
                            struct seg **out);
void replay_unit(struct seg *g, uint64_t unit_ms);
/* The segment's moves end: aborted, or it is removed. */
void replay_drop_moves(struct segtab *t, struct seg *g);
void replay_remove(struct segtab *t, struct seg *g);
SQ_CHECK int replay_append(struct seg *g, uint32_t n);
struct subject replay_subject_of(const struct jrec_subject *s); /* the text is borrowed */
/* A record of a contact; it is changed, and SQ_EPROTO: that is impossible. */
SQ_CHECK int replay_contact(struct contacts *s, const struct jrec *r);
/* The record is in the snapshot already, or of no interest any more. */
bool replay_is_known(const struct segtab *t, const struct seg *g);
/* A segment that was being rebuilt. */
SQ_CHECK int replay_rebuild(struct seg *g, const struct jrec_rebuild *h);
/* A segment of early tickets. */
void replay_early(struct segtab *t, struct seg *g, uint64_t closes_ms);
/* A draw. now: its tickets get their places; else they have them already. */
SQ_CHECK int replay_draw(struct segtab *t, struct seg *g, const struct jrec_draw *r, bool now);

/* ---- the stage ---------------------------------------------------------------------- */

void segtab_stage_free(struct segtab *t);
/* From now on records about seg wait for its last one; 0: none is waited for. */
SQ_CHECK int replay_stage(struct segtab *t, seg_id seg);
bool replay_is_staged(const struct segtab *t, seg_id seg);
/* The last record that is waited for did not come. */
bool replay_is_cut(const struct segtab *t);
SQ_CHECK int replay_on_stage(struct segtab *t, const struct jrec *r);
/* The first record of a snapshot's segment. */
SQ_CHECK int replay_seg_begin(struct segtab *t, const struct jrec *r);

#endif
