/* marks.h: which numbers of a segment were released when. A node tells nobody of a release
 * before it is stored here; if the node is gone with everything, this tells who is inside
 * (chain/lifecycle.c).
 *
 * Releases of a lane are a log of rows, several stored together under mark/QUEUE/LANE/N, and
 * dropped when no pass of them can be good any more: then only how far each segment was
 * released is left, in its chain's record. */
#ifndef SEGQ_QUEUEMNG_STATE_MARKS_H
#define SEGQ_QUEUEMNG_STATE_MARKS_H

#include "common/wire/msg_segment_manager.h"

struct arena;
struct mark_row;
struct mlane;
struct mng;
struct mseg;
struct seg_status;

#define MNG_MARK_ROWS     32    /* releases in one stored record */
#define MNG_MARK_RECORDS  256   /* records of a lane; earlier ones count as long over */

struct mchunk { /* releases, as stored together */
    uint64_t no;
    uint32_t n;
    bool dirty;
    msec_t since_ms; /* arrival of its last row: wall clocks jump */
    struct mark_row v[MNG_MARK_ROWS];
};

/* From a report: stores what is new, and tells the node that it is stored. */
void marks_take(struct mng *m, struct mseg *s, const struct seg_status *st);
/* A release of numbers that are not given yet: to be stored with this step. false: no memory. */
bool marks_grant(struct mng *m, struct mlane *l, const struct mark_row *r);
/* Takes back numbers granted before: nobody got them, and nobody will. They count as released no more. */
void marks_unused(struct mlane *l, seg_id seg, uint32_t from, uint32_t end);
/* The rows of one segment, oldest first: as many of the latest as a message takes; into mem. */
const struct mark_row *marks_of(const struct mlane *l, seg_id seg, struct arena *mem,
                                uint32_t *n);
/* Stores what is new. */
void marks_flush(struct mng *m, struct mlane *l);
/* Writes a stored record of at most MNG_MARK_ROWS rows. */
SQ_CHECK int marks_load(struct mlane *l, uint64_t chunk, const struct mark_row *v,
                        uint32_t n);
/* All records are loaded: segments and aliases learn how far they were released. */
void marks_load_end(const struct mng *m, struct mlane *l);
/* Drops what no good pass can be of any more, once it is stored in the chain. */
void marks_prune(struct mng *m, struct mlane *l);
/* All rows of the lane; stored: of the store, too. */
void marks_forget(struct mng *m, struct mlane *l, bool stored);

#endif
