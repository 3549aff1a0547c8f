/* move.h: merges, migrations and drains: the manager's side of PROTOCOL.md section 6.
 *
 * The commit is the moment in which the alias is stored. Before it everything aborts to
 * "nothing happened"; after it everything goes forward, however long it takes. The source
 * is told last, when the target is known to have the tickets; so if the target is lost
 * before that, or its node came back without the copy, the alias is taken back and the
 * source goes on as if nothing had been. */
#ifndef SEGQ_QUEUEMNG_CHAIN_MOVE_H
#define SEGQ_QUEUEMNG_CHAIN_MOVE_H

#include "common/base/base.h"
#include "common/wire/msg.h"

#define MNG_MOVE_IDLE_MS  20000 /* a move without progress is aborted */

struct mlane;
struct mng;
struct mnode;
struct msg_move_status;

/* Begins merges of neighbours in the lane. */
void moves_plan(struct mng *m, struct mlane *l);
/* Begins moves away from a node that is being emptied. */
void moves_drain(struct mng *m, struct mnode *n);
struct drain_state {
    uint32_t left;   /* segments with somebody in line or inside, or open to joins */
    uint32_t moving; /* ... of these */
    const char *why; /* reason why one of the others stays, good until the next step; "": none */
    seg_id seg;      /* that one */
    msec_t again_ms; /* until its move, which was given up, may be tried again; -1: that is not what it waits for */
};
void moves_drain_state(const struct mng *m, const struct mnode *n, struct drain_state *d);
/* Repeats orders, ends what makes no progress. */
void moves_tick(struct mng *m);
/* Ends the early moves that the node takes part in. */
void moves_node_down(struct mng *m, struct mnode *n);
/* The report of one end. */
void on_move_status(struct mng *m, struct mnode *n, const struct msg_move_status *g);

#endif
