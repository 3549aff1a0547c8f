/* move_state.h: the states of a move of tickets between two segments, and the orders that each
 * state repeats until it is answered. chain/move.c takes the steps.
 *
 *   PLANNED --accepted--> COPY --fenced--> COMMITTING --committed--> CLEARING --> over
 *      |                    |    (alias durable)      (routers know)
 *      '---- refused, timeout, a node gone ---> ABORTING --> over */
#ifndef SEGQ_QUEUEMNG_CHAIN_MOVE_STATE_H
#define SEGQ_QUEUEMNG_CHAIN_MOVE_STATE_H

#include "queuemng/state/state.h"

struct mmove;
struct mng;
struct mnode;

const char *move_state_name(enum move_state s);
/* Rises, also from manager to manager. */
static inline uint64_t move_next_id(const struct mng *m)
{
    return m->epoch << 32 | m->next_move;
}
/* The step must be one of the drawing above. */
void move_set(struct mng *m, struct mmove *v, enum move_state to);
/* NULL: over, or never begun. */
struct mmove *move_find(const struct mng *m, uint64_t id);
/* Over: its ends may move again. */
void move_free(struct mng *m, struct mmove *v);
/* Commit or abort, for one node. */
void order_end(struct mng *m, const struct mnode *n, uint64_t id, seg_id from, seg_id to,
               bool commit);
/* Gives the orders of its state; repeated by chain/move.c until they are answered. */
void move_say(struct mng *m, struct mmove *v);

#endif
