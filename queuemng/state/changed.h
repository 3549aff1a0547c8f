/* changed.h: notes what has changed, so that the end of the step (core/step.c) or the next
 * tick acts on it.
 *
 * Each call is cheap and may be repeated: what is noted already stays noted once. */
#ifndef SEGQ_QUEUEMNG_STATE_CHANGED_H
#define SEGQ_QUEUEMNG_STATE_CHANGED_H

#include "common/base/base.h"

struct mlane;
struct mng;
struct mqueue;
struct mseg;

/* Its map record has changed. */
void queue_mapped(struct mng *m, struct mqueue *q);
void map_nodes_changed(struct mng *m);
/* What put_... say. */
void queue_put_later(struct mng *m, struct mqueue *q);
/* Store its chain (or def.). */
void queue_keep(struct mng *m, struct mqueue *q, bool def);
void queue_wake(struct mng *m, struct mqueue *q);
void queue_fit_lanes(struct mng *m, struct mqueue *q);
void lane_touch(struct mng *m, struct mlane *l);
void seg_todo(struct mng *m, struct mseg *s);

#endif
