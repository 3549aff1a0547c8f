/* move.h: a move under way, on either side: its life, its reports to the manager, and its end. */
#ifndef SEGQ_SEG_TRANSFER_MOVE_H
#define SEGQ_SEG_TRANSFER_MOVE_H

#include "segment/core/state.h"

/* In its first stage, DIALLING or RECEIVING; the segment g has no move of this side. NULL: no
 * memory. */
struct move *move_new(struct segtab *t, uint64_t id, seg_id from, seg_id to, uint8_t side,
                      struct seg *g);
/* The one setter of v->stage after move_new(); asserts that the step is allowed. */
void move_step(struct move *v, enum move_stage to);
/* Forgets it; nothing is told. */
void segtab_move_free(struct segtab *t, struct move *v);
struct move *segtab_move_find(const struct segtab *t, uint64_t id, uint8_t side);
/* Nothing of it is left here; the segment goes on as if it had not been. */
void segtab_move_abort(struct segtab *t, struct move *v, const char *why,
                       struct outbox *out);
/* Aborts the segment's moves, in and out. */
void segtab_moves_drop(struct segtab *t, struct seg *g, const char *why,
                       struct outbox *out);
/* The source's end of a move whose copy was complete. SQ_ENOMEM, or 0. */
SQ_CHECK int segtab_move_recover(struct segtab *t, struct seg *g, uint64_t id, seg_id to);
/* To the manager, if there is one (the next is told everything). why: a constant. */
void segtab_move_tell(struct segtab *t, uint64_t move, seg_id from, seg_id to,
                      uint8_t side, uint8_t report, uint32_t tickets, const char *why,
                      struct outbox *out);
/* Reports the state to the manager. */
void segtab_move_report(struct segtab *t, struct move *v, struct outbox *out);
void segtab_moves_tell(struct segtab *t, struct outbox *out); /* all, to a new manager */
struct xfer_time segtab_move_time(const struct segtab *t, const struct seg *g);

/* MOVE_END; of a move that is not known it says what is known of its segments. */
void order_move_end(struct segtab *t, peer_no from, const struct msg_move_end *m,
                    struct outbox *out);

#endif
