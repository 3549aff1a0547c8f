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

void batch_ahead(struct mng *m, struct mnode *n, seg_id seg, uint64_t ahead);
void batch_pace(struct mng *m, struct mnode *n, const struct pace_entry *p);
void batch_kept(struct mnode *n, seg_id seg, uint64_t tick);
void batch_send(struct mng *m, struct mnode *n);
void batch_lane_pace(struct mng *m, const struct mlane *l, struct mnode *n);

#endif
