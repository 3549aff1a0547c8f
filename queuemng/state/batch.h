/* batch.h: what a node is told in one message at the end of a step: places ahead, polling
 * intervals, and which releases are stored.
 *
 * Rows are collected per node and sent by node_flush_ahead(); rows for a node that is not
 * registered are dropped, since it is told everything when it is. */
#ifndef SEGQ_QUEUEMNG_STATE_BATCH_H
#define SEGQ_QUEUEMNG_STATE_BATCH_H

#include "common/base/base.h"

struct mlane;
struct mng;
struct mnode;
struct pace_entry;

void node_ahead(struct mng *m, struct mnode *n, seg_id seg, uint64_t ahead);
void node_pace(struct mng *m, struct mnode *n, const struct pace_entry *p);
void node_kept(struct mnode *n, seg_id seg, uint64_t tick);
void node_flush_ahead(struct mng *m, struct mnode *n);
void lane_pace_to(struct mng *m, const struct mlane *l, struct mnode *n);

#endif
