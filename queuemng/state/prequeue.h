/* prequeue.h: segments of the pre-queue, which people join before their queue opens
 * (chain/draws.c has the draw).
 *
 * Such a segment is sealed at the opening. Its node may do that by its own clock: it is told
 * the time (prequeue_closes_ms()), unless that clock was seen to be wrong. */
#ifndef SEGQ_QUEUEMNG_STATE_PREQUEUE_H
#define SEGQ_QUEUEMNG_STATE_PREQUEUE_H

#include "common/base/base.h"

struct mlane;
struct mng;
struct mseg;

/* Joins of the lane go to the pre-queue now. */
bool lane_is_early(const struct mlane *l);
/* True: joined in this phase: of the pre-queue before the opening, else not. */
bool prequeue_fits(const struct mseg *s);
/* True: its people have no places yet. */
bool seg_is_undrawn(const struct mseg *s);
/* Numbers of its next tail. */
uint64_t lane_capacity(const struct mlane *l);
/* Wall clock of its node at which that seals it; 0: by order alone. */
int64_t prequeue_closes_ms(const struct mseg *s);
/* True: its node has not been told that time yet. */
bool prequeue_time_is_new(const struct mseg *s);
/* True: its node has not been told its draw yet. */
bool prequeue_draw_is_due(const struct mseg *s);
/* Notes that its node has sealed it: by a clock ahead of ours, if the queue is not open yet. */
void prequeue_sealed(struct mng *m, struct mseg *s);

#endif
