/* move_state.h: a move of tickets between two segments: its states, and the orders that each state
 * repeats until it is answered. chain/move.c takes the steps.
 *
 *   PLANNED --accepted--> COPY --fenced--> COMMITTING --committed--> CLEARING --> over
 *      |                    |    (alias durable)      (routers know)
 *      '---- refused, timeout, a node gone ---> ABORTING --> over */
#ifndef SEGQ_QUEUEMNG_CHAIN_MOVE_STATE_H
#define SEGQ_QUEUEMNG_CHAIN_MOVE_STATE_H

#include "common/base/list.h"
#include "queuemng/state/state.h"

struct mmove;
struct mng;
struct mnode;
struct msg_move_status;
struct seg_status;

enum move_state {
    MOVE_PLANNED,    /* MOVE_IN is to be accepted by the target's node */
    MOVE_COPY,       /* source is copying */
    MOVE_COMMITTING, /* alias is durable; target is told */
    MOVE_CLEARING,   /* target has it, routers know; source is told */
    MOVE_ABORTING,   /* both are told to forget */
    MOVE_NSTATES
};

struct mmove {
    uint64_t id;
    struct mseg *from, *to;   /* refs; from is NULL from MOVE_CLEARING on */
    seg_id from_id, to_id;
    struct mnode *from_node, *to_node;
    enum move_state state;
    bool from_done, to_done;  /* aborted there */
    uint32_t tickets;
    msec_t progress_ms, sent_ms;
    struct list_node in;
};

#define each_move(m, v)     list_each_of(&(m)->moves, struct mmove, in, v)

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
/* Gives the orders of its state; repeated by chain/move.c until they are answered. */
void move_say(struct mng *m, struct mmove *v);

/* Moves that a node still takes part in, but this manager does not know: an
 * earlier manager's, or one that ended while the node was away.
 *
 * Only a stored alias says that such a move was committed; its target may not have heard of
 * it. The source keeps its tickets until the target has them. */
/* The answer to a MOVE_STATUS of such a move. */
void move_unknown_end(struct mng *m, const struct mnode *n, const struct msg_move_status *g);
/* A node reports a segment with a move that this manager does not know. */
void move_unknown(struct mng *m, struct mnode *n, const struct seg_status *st);

#endif
