/* rows.h: the numbers of one name as bytes of a row of MSG_REPLICA: lines of bits, and the dead.
 *
 * A name is a segment as tokens call it: a hosted one (r NULL: slots below `joined` are its
 * numbers), or one that its host has absorbed. */
#ifndef SEGQ_SEG_REPLICA_ROWS_H
#define SEGQ_SEG_REPLICA_ROWS_H

#include "common/base/arena.h"
#include "segment/core/state.h"

struct name_of {
    struct seg *host;
    const struct reloc *r; /* NULL: the host itself */
};

/* The first and the one behind the last slot that can have tickets of it. */
uint32_t name_slot(struct name_of n);
uint32_t name_slot_end(struct name_of n);
/* Numbers that it ever gave; the first that lives, or that. */
uint32_t name_end(struct name_of n);
uint32_t name_head(struct name_of n);
/* Living tickets of the host before its first slot. Tags must be settled. */
uint32_t name_rank(struct name_of n);

/* row->lines: what lives from `block` on, in at most `room` bytes (>= 128); returns the block to
 * go on with, or the number of blocks. row->head and end are set. UINT32_MAX: no memory. */
uint32_t rows_lines(struct name_of n, struct replica_row *row, uint32_t block, size_t room,
                    struct arena *mem);
/* row->dead and lines: the slots that died, of rising order, all of them of this name. At most
 * 5 bytes each. */
SQ_CHECK bool rows_died(struct name_of n, struct replica_row *row, const uint32_t *slot,
                        uint32_t n_slots, struct arena *mem);

#endif
