/* alias.h: merged segments. An alias says that the tickets of one segment live in another one since
 * a move was committed; the node of that one says which segments it has absorbed.
 *
 * No alias points to an alias: alias_fold() sees to that. The aliases of one target stand in
 * the order of its line. */
#ifndef SEGQ_QUEUEMNG_STATE_ALIAS_H
#define SEGQ_QUEUEMNG_STATE_ALIAS_H

#include "common/base/base.h"

struct mlane;
struct mng;
struct mseg;
struct seg_status;

struct malias { /* the tickets of `from` live in `to` now */
    seg_id from, to;
    uint32_t capacity; /* capacity of `from`: 0: it never gave a number; MNG_CAPACITY_UNKNOWN */
    uint32_t mark_end; /* see struct mseg */
};
#define MNG_CAPACITY_UNKNOWN UINT32_MAX

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

/* While an alias leads to a segment whose node has not confirmed that it has those tickets, the
 * segment has a missing source (s->missing_source), and its contents are uncertain. */

/* True: its node has said so. */
bool seg_has_absorbed(const struct mseg *s, seg_id id);
/* Brings s->missing_source up to date: after the aliases to it have changed. */
void seg_check_absorbed(struct mseg *s);
/* Adds one. Without memory the step fails, and the source keeps waiting. */
void seg_add_absorbed(struct mng *m, struct mseg *s, seg_id id);
/* All of them anew, by its node's full report. */
void seg_set_absorbed(struct mng *m, struct mseg *s, const struct seg_status *st);
/* Notes that its node has confirmed a commit: all that aliases lead to it is in it. */
void seg_set_heard(struct mng *m, struct mseg *s);

#endif
