/* alias.h: aliases: the tickets of one segment that live in another one since a move was
 * committed.
 *
 * No alias points to an alias: alias_fold() sees to that. The aliases of one target stand in
 * the order of its line. */
#ifndef SEGQ_QUEUEMNG_STATE_ALIAS_H
#define SEGQ_QUEUEMNG_STATE_ALIAS_H

#include "queuemng/state/state.h"

struct malias;
struct mlane;
struct mng;
struct mseg;

/* NULL: no chain has it (any more). */
struct mseg *seg_find(const struct mng *m, seg_id id);
/* The segment that has the tickets of `from`; 0: no alias. */
seg_id alias_of(const struct mlane *l, seg_id from);
/* The lane of a segment, or of one that another has absorbed; NULL: of none. */
struct mlane *lane_of(const struct mng *m, seg_id seg);
/* The segment that has its tickets now; NULL: none. */
struct mseg *seg_resolve(const struct mng *m, seg_id seg);
/* Must not be there yet. SQ_ENOMEM: nothing has changed. */
SQ_CHECK int alias_add(struct mlane *l, struct malias a);
/* Nothing happens if there is none. */
void alias_drop(struct mlane *l, seg_id from);
/* Aliases to `from` lead to `to` from now on, so that no alias points to an alias, and stand
 * directly behind `from`, where their tickets are. */
void alias_fold(struct mlane *l, seg_id from, seg_id to);

#endif
