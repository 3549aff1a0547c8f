/* lifecycle.h: the life of one segment in its lane's chain: made, reported by its node, lost
 * with it, rebuilt, removed; and of a queue: made, emptied, gone for good.
 *
 * Nothing here waits for an answer: what its node should do about it is noted (state/queue.h) and
 * ordered by chain/reconcile.c until a report shows it. */
#ifndef SEGQ_QUEUEMNG_CHAIN_LIFECYCLE_H
#define SEGQ_QUEUEMNG_CHAIN_LIFECYCLE_H

#include "common/base/base.h"

struct mlane;
struct mng;
struct mnode;
struct mseg;
struct seg_status;

/* In the chain before `before` (NULL: at its end, the only place that may be joined, I3).
 * NULL: no memory. */
struct mseg *seg_new(struct mng *m, struct mlane *l, struct mnode *n, seg_id id,
                     uint32_t capacity, uint8_t kind, struct mseg *before);
/* Takes it out of its chain, with the aliases to it, and frees it. */
void seg_unlink(struct mng *m, struct mseg *s);
/* Takes its node's report. Of a lost segment nothing is taken. */
void seg_status(struct mng *m, struct mseg *s, const struct seg_status *st);
/* Voids its credit: its node knows nothing of it, and what it used is in its report. */
void seg_credit_void(struct mseg *s);
/* Notes a loss: its node does not have it, or was silent for too long: the plan of its lane opens it
 * elsewhere. One in which certainly nobody is goes at once: s may be freed. */
void seg_lost(struct mng *m, struct mseg *s);

/* Queues: operators' orders about them are core/queues.c. */

struct mqueue;

/* Without name and definition. NULL: no memory. */
struct mqueue *queue_new(struct mng *m, queue_id id);
/* Nodes and the store were told already. */
void queue_free(struct mng *m, struct mqueue *q);
/* Everybody in the lane is sent away; nodes that cannot be reached are told when they
 * report the segments. */
void segs_forget(struct mng *m, struct mlane *l);
/* For good: nodes, store and routers are told, and it is freed. */
void queue_gone(struct mng *m, struct mqueue *q);

/* Rebuilding: ids of segments whose node is gone with everything are opened on another node, and the people who hold tokens bring them back (PROTOCOL.md section 15).
 *
 *   seg_lost --> lost --a node has room--> opened there, empty --time--> like any other
 *                  '--its node is back, with it--> as if nothing had been
 *
 * Segments that a lost one had absorbed become segments of their own again: a token's number says
 * nothing about the order among the numbers of another segment, but the aliases of a segment
 * are kept in the order of its line. */

/* Opens its lost segments on nodes with room. */
void lane_rebuild(struct mng *m, struct mlane *l);
/* Makes the segments that s has absorbed segments of their own again, behind it, to be rebuilt;
 * only_missing: only those that its node has not confirmed. */
void seg_unmerge(struct mng *m, struct mseg *s, bool only_missing);
/* The node of a lost segment reports it. false: the report does not fit the chain. */
bool seg_take_back(struct mng *m, struct mseg *s, const struct seg_status *st, bool full);

#endif
