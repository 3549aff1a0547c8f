/* copying.h: the moves of this node, on both sides, until their end: orders, copies, links,
 * time. */
#ifndef SEGQ_SEG_TRANSFER_COPYING_H
#define SEGQ_SEG_TRANSFER_COPYING_H

#include "segment/core/state.h"

void segtab_copy(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out);
/* Moves that do not advance are aborted, the others go on and are reported. */
void segtab_moves_tick(struct segtab *t, struct outbox *out);
/* A link to a node is up, or gone. */
void segtab_moves_peer(struct segtab *t, const struct peer *p, bool up,
                       struct outbox *out);
/* The node could not be reached. */
void segtab_moves_no_dial(struct segtab *t, const char *name, struct outbox *out);
/* Links that moves want; returns how many (at most cap). */
size_t segtab_moves_wanted(const struct segtab *t, struct node_want *v, size_t cap);

/* MOVE_OUT: begins, or says how it stands. */
void order_move_out(struct segtab *t, peer_no from, const struct msg_move_out *m,
                    struct outbox *out);
/* MOVE_IN: waits for the copy, or says how it stands. */
void order_move_in(struct segtab *t, peer_no from, const struct msg_move_in *m,
                   struct outbox *out);
/* Members of the directory have answered: a whole copy may be ready. */
void segtab_moves_heard(struct segtab *t, struct outbox *out);

#endif
