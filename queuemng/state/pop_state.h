/* pop_state.h: the release under way in a lane (struct mpop): its end, and the times by which
 * it is judged. release/pop.c gives the orders. */
#ifndef SEGQ_QUEUEMNG_STATE_POP_STATE_H
#define SEGQ_QUEUEMNG_STATE_POP_STATE_H

#include "common/base/base.h"

struct mlane;
struct mng;
struct mqueue;
struct mseg;

/* Tickets that the allowed rate is worth in one tick. */
double one_tick(const struct mng *m, const struct mqueue *q);
/* The release of the lane is over; refund: the unused tickets may be given later. */
void pop_end(struct mng *m, struct mlane *l, uint64_t unused, bool refund);
/* A segment goes: a release from it is over. */
void pop_seg_gone(struct mng *m, struct mseg *s);
/* ms without a poll from which the whole queue counts as silent (policy/quiet.h). */
msec_t pop_quiet_ms(const struct mqueue *q);

#endif
