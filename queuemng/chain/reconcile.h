/* reconcile.h: orders to the node of one segment, given again each second until its report
 * shows their effect.
 *
 * The last report of its node (s->st) is compared with the wishes (announced, want_seal,
 * want_next, want_remove, its draw). While the two differ the segment is in mng.todo. */
#ifndef SEGQ_QUEUEMNG_CHAIN_RECONCILE_H
#define SEGQ_QUEUEMNG_CHAIN_RECONCILE_H

#include "common/base/base.h"

struct mng;
struct mnode;
struct mqueue;
struct mseg;

/* The rules of a queue, before the first order about it. */
void queue_rules_to(struct mng *m, const struct mqueue *q, struct mnode *n);
/* Gives the one order that is due; takes it from mng.todo when none is. */
void seg_reconcile(struct mng *m, struct mseg *s);
/* Into mng.todo, and ordered at once. */
void seg_wish(struct mng *m, struct mseg *s);

#endif
