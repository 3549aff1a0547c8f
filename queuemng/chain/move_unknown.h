/* move_unknown.h: moves that a node still takes part in, but this manager does not know: an
 * earlier manager's, or one that ended while the node was away.
 *
 * Only a stored alias says that such a move was committed; its target may not have heard of
 * it. The source keeps its tickets until the target has them. */
#ifndef SEGQ_QUEUEMNG_CHAIN_MOVE_UNKNOWN_H
#define SEGQ_QUEUEMNG_CHAIN_MOVE_UNKNOWN_H

#include "common/base/base.h"

struct mng;
struct mnode;
struct msg_move_status;
struct seg_status;

/* The answer to a MOVE_STATUS of such a move. */
void move_unknown_end(struct mng *m, const struct mnode *n, const struct msg_move_status *g);
/* A node reports a segment with a move that this manager does not know. */
void move_unknown(struct mng *m, struct mnode *n, const struct seg_status *st);

#endif
