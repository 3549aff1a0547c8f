/* chain.h: the plan of one lane: its segments in order, the places ahead of each, sealing,
 * opening successors, removing what is over.
 *
 * The chain is the order of the line: earlier segments are released first (I3), and only its
 * last open segment is joined.
 *
 * A pre-queue is a part of it: whoever comes before a queue opens joins a segment of the pre-queue
 * and is shown no position; at the opening it is sealed, and its people draw their places
 * (common/ticket/draw.h).
 *
 *   PREQUEUE: the lane's tail is a segment of the pre-queue --opening--> sealed, as soon as a
 *   tail behind it is there --> its numbers are counted and stored with the seed (from here
 *   on the order is fixed, whatever fails) --> its node is told (SEG_SEAL) --> draws, says so
 *
 * It also seals itself when its node's clock comes to the opening, whoever is away then: a
 * person who is told late that he is in has not come late. Nobody else can join in the
 * meantime.
 *
 * Until then nobody is released from it, nor from behind it; it is in no move. Afterwards it
 * absorbs others like any segment, but stays where it is: its table of places is its node's.
 * If one is lost before the draw, its people bring it back first (lifecycle.h), and all numbers
 * that it may have given are drawn; after it, the new node is told the draw at once. */
#ifndef SEGQ_QUEUEMNG_CHAIN_CHAIN_H
#define SEGQ_QUEUEMNG_CHAIN_CHAIN_H

#include "common/base/base.h"

struct mlane;
struct mng;
struct mnode;
struct mqueue;
struct mseg;

/* Seals, opens, moves, removes, and tells nodes the places ahead: what is due now. */
void lane_plan(struct mng *m, struct mlane *l);
/* True: the lane waits for something that may come without a word about it: room on some node,
 * time. Looked at every second. */
bool lane_is_waiting(const struct mlane *l);
/* Room may be on some node: lanes that wait for it are planned again. */
void lanes_look(struct mng *m);

/* The node for the next tail; *by_order: its clock is wrong, so it gets no time. NULL: no room. */
struct mnode *draws_place(struct mng *m, const struct mlane *l, const struct mseg *near,
                         bool *by_order);
/* Tells nodes a new opening time, draws what is complete. */
void draws_plan(struct mng *m, struct mlane *l);
/* Routers may send early people once every lane has a tail for them. */
void draws_ready(struct mng *m, struct mqueue *q);

#endif
