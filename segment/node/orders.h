/* orders.h: the orders of the manager, and which manager is obeyed. */
#ifndef SEGQ_SEG_NODE_ORDERS_H
#define SEGQ_SEG_NODE_ORDERS_H

#include "segment/core/state.h"

/* Every order may come twice; its answer is the status of the segment it is about. */
void segtab_order(struct segtab *t, peer_no from, const struct msg *m,
                  struct outbox *out);

#endif
