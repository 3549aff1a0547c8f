/* lifecycle.h: the life of one segment in its lane's chain: made, reported by its node, lost
 * with it, removed.
 *
 * Nothing here waits for an answer: what its node should do about it is noted (changed.h) and
 * ordered by chain/reconcile.c until a report shows it. */
#ifndef SEGQ_QUEUEMNG_CHAIN_LIFECYCLE_H
#define SEGQ_QUEUEMNG_CHAIN_LIFECYCLE_H

#include "common/base/base.h"

struct mlane;
struct mng;
struct mnode;
struct mseg;
struct seg_status;

struct mseg *seg_new(struct mng *m, struct mlane *l, struct mnode *n, seg_id id,
                     uint32_t capacity, uint8_t kind, struct mseg *before);
/* Out of the chain, freed. */
void seg_unlink(struct mng *m, struct mseg *s);
void seg_status(struct mng *m, struct mseg *s, const struct seg_status *st);
void seg_lost(struct mng *m, struct mseg *s);

#endif
