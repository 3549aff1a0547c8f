/* batch.h: what a node is told in one message at the end of a step: places ahead, polling
 * intervals, and which releases are stored.
 *
 * Rows are collected per node and sent by batch_send(); rows for a node that is not
 * registered are dropped, since it is told everything when it is. */
#ifndef SEGQ_QUEUEMNG_STATE_BATCH_H
#define SEGQ_QUEUEMNG_STATE_BATCH_H

#include "common/base/base.h"

struct mlane;
struct mng;
struct mnode;
struct pace_entry;

/* `ahead` places stand before the segment. */
void batch_ahead(struct mng *m, struct mnode *n, seg_id seg, uint64_t ahead);
/* Polling intervals of one lane. */
void batch_pace(struct mng *m, struct mnode *n, const struct pace_entry *p);
/* The releases of the segment up to this tick are stored. Lost without memory: the
 * node says them again. */
void batch_stored(struct mnode *n, seg_id seg, uint64_t tick);
/* Sends and forgets what was collected for the node. */
void batch_send(struct mng *m, struct mnode *n);
/* A lane's polling interval, as it is now, for one node. */
void batch_lane_pace(struct mng *m, const struct mlane *l, struct mnode *n);

#endif
