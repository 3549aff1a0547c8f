/* chain.h: the plan of one lane: its segments in order, the places ahead of each, sealing,
 * opening successors, removing what is over.
 *
 * The chain is the order of the line: earlier segments are released first (I3), and only its
 * last open segment is joined. */
#ifndef SEGQ_QUEUEMNG_CHAIN_CHAIN_H
#define SEGQ_QUEUEMNG_CHAIN_CHAIN_H

#include "common/base/base.h"

struct mlane;
struct mng;

/* Seals, opens, moves, removes, and tells nodes the places ahead: what is due now. */
void lane_plan(struct mng *m, struct mlane *l);
/* True: the lane waits for something that may come without a word about it: room on some node,
 * time. Looked at every second. */
bool lane_is_waiting(const struct mlane *l);
/* Room may be on some node: lanes that wait for it are planned again. */
void lanes_look(struct mng *m);

#endif
