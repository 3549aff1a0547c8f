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

/* Notes a changed map record: every router is sent it at the end of the step. */
void queue_mapped(struct mng *m, struct mqueue *q);
/* The map's list of nodes, or of their keys, has changed. */
void map_nodes_changed(struct mng *m);
/* Notes what is stored at the end of the step, by its put_... flags. */
void queue_put_later(struct mng *m, struct mqueue *q);
/* Stores its definition at the end of the step. */
void queue_def_changed(struct mng *m, struct mqueue *q);
/* Stores its chains, likewise. */
void queue_chain_changed(struct mng *m, struct mqueue *q);
/* People wait in it: it has ticks from now on. */
void queue_wake(struct mng *m, struct mqueue *q);
/* Releases from it in this step, not only at the next tick, if it has ticks. */
void queue_urgent(struct mng *m, struct mqueue *q);
/* Takes a new definition: it gets the lanes of that, each planned in this step. */
void queue_fit_lanes(struct mng *m, struct mqueue *q);
/* The lane is planned at the end of the step. */
void lane_touch(struct mng *m, struct mlane *l);
/* The segment is to be reconciled with the next tick (chain/reconcile.h). */
void seg_todo(struct mng *m, struct mseg *s);

#endif
