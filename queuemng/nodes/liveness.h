/* liveness.h: segment nodes by the clock: a silent one is given up, a draining one is emptied, and in
 * the end forgotten.
 *
 * A node is known by its name for ever, since what is in its segments is there when it comes back;
 * until an operator has drained it and it is gone, or says himself that it will not come (core/orders.c).
 *
 *   draining, empty, no link = retired: routers and Prometheus are not told of it any more
 *   retired for forget_after, or by order = forgotten: as if it had never been
 *
 * The rest on its disk is nobody's: its segments were moved or opened elsewhere. Should it
 * come back, it is a new node, and is told to forget them. The key with which it signed passes
 * stays in the map as long as such a pass can be good, unless another node has it, too. */
#ifndef SEGQ_QUEUEMNG_NODES_LIVENESS_H
#define SEGQ_QUEUEMNG_NODES_LIVENESS_H

#include "common/base/base.h"

struct mng;
struct mnode;

/* Opens its segments elsewhere from now on. */
void node_lost(struct mng *m, struct mnode *n);
/* Every tick, each node. */
void nodes_tick(struct mng *m);

/* No link, no segments, no moves. */
bool is_gone(const struct mnode *n);
/* The time for which passes may be good that only its key proves. */
msec_t key_needed_ms(const struct mng *m, const struct mnode *n);
/* -1: not by itself. */
msec_t node_forget_in_ms(const struct mng *m, const struct mnode *n);
/* n is freed. */
void node_forget(struct mng *m, struct mnode *n, const char *why);

#endif
