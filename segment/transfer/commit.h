/* commit.h: the end of a move: MOVE_END, commit or abort, on either side. */
#ifndef SEGQ_SEG_TRANSFER_COMMIT_H
#define SEGQ_SEG_TRANSFER_COMMIT_H

#include "segment/core/state.h"

/* MOVE_END; of a move that is not known it says what is known of its segments. */
void order_move_end(struct segtab *t, peer_no from, const struct msg_move_end *m,
                    struct outbox *out);

#endif
