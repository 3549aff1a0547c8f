/* orders.h: the orders of the manager, which manager is obeyed, and what is done while the journal
 * cannot write. */
#ifndef SEGQ_SEG_NODE_ORDERS_H
#define SEGQ_SEG_NODE_ORDERS_H

#include "segment/core/opts.h"

struct msg;
struct outbox;
struct segtab;

/* Every order may come twice; its answer is the status of the segment it is about. */
void segtab_order(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out);
/* Holds: a change could not be kept, so nothing changes (segment/node/orders.c). The table must be
 * what the journal has: after a turn that was not written it is made anew. */
void segtab_hold(struct segtab *t, bool hold);
/* Refuses joins; everything else goes on. */
void segtab_full(struct segtab *t, bool full);
/* Tells the manager that joins are refused here until there is room again: it lets people join at another
 * node meanwhile. */
void segtab_no_room(struct segtab *t, bool no_room);

#endif
