/* records.h: the records that the manager must not lose, as key and JSON text:
 *
 *   meta          format, epoch, and the next free ids (segments: an upper bound)
 *   node/NAME     number, draining; addresses and pass key, for routers that come first
 *   queue/NAME    id, version, definition; deleted [until when it can be restored, its
 *                 state before]
 *   chain/ID      per lane: segments in order [id, node, state, capacity, kind, mark, of
 *                 the pre-queue, how many drew places, the seed of their draw],
 *                 aliases [from, to, capacity, mark], the longest told interval;
 *                 flushed, lost [how many were inside then, until when]
 *   directory     the nodes that keep the directory of subjects (nodes/directory.c), and its
 *                 version
 *   sched/ID      which of its opening and closing times have come, the seed of its draw
 *   mark/ID/LANE/N  releases [segment, from, end, wall clock, again] (state/marks.c)
 *
 * The rest is rebuilt from what the nodes report. What a newer version adds to a record, or as
 * a record, is passed over (and gone when we write it anew); what we could not understand at
 * all has another STORE_FORMAT, and is refused. */
#ifndef SEGQ_QUEUEMNG_STATE_RECORDS_H
#define SEGQ_QUEUEMNG_STATE_RECORDS_H

#include "common/base/base.h"

struct mng;
struct mnode;
struct mqueue;

/* Epoch and next free ids. */
void put_meta(struct mng *m);
/* One node. */
void node_put(struct mng *m, const struct mnode *n);
/* The definition of a queue. */
void put_def(struct mng *m, const struct mqueue *q);
/* The chains of a queue. */
void put_chain(struct mng *m, const struct mqueue *q);
/* The opening hours of a queue, as far as they have come. */
void sched_put(struct mng *m, const struct mqueue *q);

#endif
