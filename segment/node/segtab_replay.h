/* segtab_replay.h: what the two halves of the replay share. Nobody else includes it. */
#ifndef SEGQ_SEGTAB_REPLAY_H
#define SEGQ_SEGTAB_REPLAY_H

#include "segment/node/segtab_int.h"

/* All int: 0, SQ_ENOMEM, or SQ_EPROTO (it cannot be so). */
/* ---- segtab_stage.c -------------------------------------------------------------- */
struct seg *replay_seg(struct segtab *t, seg_id id); /* or NULL */
SQ_CHECK int replay_new_seg(struct segtab *t, seg_id id, const struct jrec_open *o,
                            struct seg **out);
void replay_unit(struct seg *g, uint64_t unit_ms);
void replay_drop_moves(struct segtab *t, struct seg *g);
void replay_remove(struct segtab *t, struct seg *g);
SQ_CHECK int replay_append(struct seg *g, uint32_t n);
struct subject replay_subject_of(const struct jrec_subject *s); /* the text is borrowed */
/* What is said of it now is in the snapshot already, or of no interest any more. */
bool replay_is_known(const struct segtab *t, const struct seg *g);

/* From now on records about seg wait for its last one; 0: none is waited for. */
SQ_CHECK int replay_stage(struct segtab *t, seg_id seg);
bool replay_is_staged(const struct segtab *t, seg_id seg);
SQ_CHECK int replay_on_stage(struct segtab *t, const struct jrec *r);
/* ---- segtab_replay.c -------------------------------------------------------------- */
SQ_CHECK int replay_hollow(struct seg *g, const struct jrec_hollow *h);
/* now: its people get their places; else they have them already. */
void replay_early(struct segtab *t, struct seg *g, uint64_t closes_ms);
SQ_CHECK int replay_draw(struct segtab *t, struct seg *g, const struct jrec_draw *r, bool now);
/* ---- segtab_stage.c -------------------------------------------------------------- */
/* The first record of a snapshot's segment. */
SQ_CHECK int replay_seg_begin(struct segtab *t, const struct jrec *r);

#endif
