/* rebuild.h: segments whose node is gone with everything. Their ids are opened on another
 * node, and the people who hold tokens bring them back (PROTOCOL.md section 15).
 *
 *   seg_lost --> lost --a node has room--> opened there, empty --time--> like any other
 *                  '--its node is back, with it--> as if nothing had been
 *
 * Segments that a lost one had absorbed become segments of their own again: a token's number says
 * nothing about the order among the numbers of another segment, but the aliases of a segment
 * are kept in the order of its line. */
#ifndef SEGQ_QUEUEMNG_CHAIN_REBUILD_H
#define SEGQ_QUEUEMNG_CHAIN_REBUILD_H

#include "common/base/base.h"

struct mlane;
struct mng;
struct mseg;
struct seg_status;

/* Opens its lost segments on nodes with room. */
void lane_rebuild(struct mng *m, struct mlane *l);
/* Makes the segments that s has absorbed segments of their own again, behind it, to be rebuilt;
 * only_missing: only those that its node has not confirmed. */
void seg_unmerge(struct mng *m, struct mseg *s, bool only_missing);
/* The node of a lost segment reports it. false: the report does not fit the chain. */
bool seg_take_back(struct mng *m, struct mseg *s, const struct seg_status *st, bool full);

#endif
