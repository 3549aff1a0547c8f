/* source.h: the source's side of a move, up to its end. */
#ifndef SEGQ_SEG_TRANSFER_SOURCE_H
#define SEGQ_SEG_TRANSFER_SOURCE_H

#include "segment/core/state.h"

/* MOVE_OUT: begins, or says how it stands. */
void order_move_out(struct segtab *t, peer_no from, const struct msg_move_out *m,
                    struct outbox *out);
/* Begins to copy: a link to the target's node is there. */
void source_run(struct segtab *t, struct move *v, peer_no peer, struct outbox *out);
/* Sends what the window allows. */
void source_pump(struct segtab *t, struct move *v, struct outbox *out);
/* The target's acknowledgement, or refusal. */
void source_ack(struct segtab *t, peer_no from, const struct msg_copy_ack *m,
                struct outbox *out);

#endif
