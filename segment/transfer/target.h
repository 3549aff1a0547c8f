/* target.h: the target's side of a move, up to its end. */
#ifndef SEGQ_SEG_TRANSFER_TARGET_H
#define SEGQ_SEG_TRANSFER_TARGET_H

#include "segment/core/state.h"

/* MOVE_IN: waits for the copy, or says how it stands. */
void order_move_in(struct segtab *t, peer_no from, const struct msg_move_in *m,
                   struct outbox *out);
/* A message of a copy. */
void target_copy(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out);
/* Members of the directory have answered: a whole copy may be ready. */
void segtab_moves_heard(struct segtab *t, struct outbox *out);

#endif
