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

bool lane_is_early(const struct mlane *l);
/* Such segments are joined in this phase. */
bool prequeue_fits(const struct mseg *s);
/* Its people have no places yet. */
bool seg_is_undrawn(const struct mseg *s);
/* Of its next tail. */
uint64_t lane_capacity(const struct mlane *l);
/* Its node is to seal it at this time of the node's wall clock; 0: by order alone. */
int64_t prequeue_closes_ms(const struct mseg *s);
/* Its node is to be told another such time. */
bool prequeue_time_is_new(const struct mseg *s);
/* Its node is to be told to draw. */
bool prequeue_draw_is_due(const struct mseg *s);
/* It is open for us, and its node sealed it. */
void prequeue_sealed(struct mng *m, struct mseg *s);

#endif
