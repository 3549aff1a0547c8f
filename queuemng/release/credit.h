/* credit.h: entry without a wait. Credit: the tail of an empty lane may let the next joins in at
 * once (SEG_CREDIT), ahead of time.
 *
 *   wish --> share of the controller --> stored as released --SEG_CREDIT--> node: joins enter
 *            ^                                                                |
 *            '--- not used: given back <----- status: used, left, over <------'
 *
 * What is given counts as released at once, and as inside, until a status says that it was
 * not used. One order of a segment is under way at a time. Lanes that nobody has joined for
 * CREDIT_WARM_MS have none. */
#ifndef SEGQ_QUEUEMNG_RELEASE_CREDIT_H
#define SEGQ_QUEUEMNG_RELEASE_CREDIT_H

#include "common/base/base.h"

struct mlane;
struct mng;
struct mqueue;

/* Tickets beyond those that wait, which the lane could be given now; 0: it gets none. */
uint64_t credit_wish(struct mng *m, struct mlane *l);
/* n of its wish. */
void credit_give(struct mng *m, struct mlane *l, uint64_t n);
/* True: nobody waits in the queue any more, so it may be given. */
bool credit_is_due(const struct mqueue *q);
/* The definition has changed: what may not be used any more is called back. */
void credit_recall(struct mng *m, struct mqueue *q);
/* Each tick: credit that is in use goes on, other credit is called back. */
void credit_keep(struct mng *m, struct mlane *l);
/* Tickets that a queue by rate may save up for entry on credit, beside what is given. */
uint64_t credit_spare(const struct mng *m, const struct mqueue *q);
/* The lane has credit, or may soon have: its queue has ticks. */
bool credit_is_warm(const struct mng *m, const struct mlane *l);

/* Direct entry: a join that is let in with its own answer. The manager says how near a place must be
 * for that; routers hold such joins for a moment (router/flow/flow.h). */
/* People who may be let in now, by the queue's slots and its budget's. */
uint64_t queue_lets_in(const struct mng *m, const struct mqueue *q);
/* Places from the head whose people are let in with their join; 0: nobody is. */
uint64_t direct_entry_reach(const struct mng *m, const struct mqueue *q);

#endif
