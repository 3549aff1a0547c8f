/* ticket_idx.h: finds records by their ticket's id: open addressing over record indices.
 * Pure. The records stay in their owner's array; each begins with a struct ticket_id.
 * Ids are our own (nobody outside can choose them), so the hash is not keyed. */
#ifndef SEGQ_TICKET_IDX_H
#define SEGQ_TICKET_IDX_H

#include "common/base/err.h"

#define TICKET_IDX_NONE UINT32_MAX

struct ticket_id { /* the id in a token */
    seg_id seg;
    uint32_t number;
};

struct ticket_idx {
    uint32_t *slot; /* owned; index + 1, 0 = free */
    uint32_t n, cap; /* cap is 0 or a power of two */
    size_t stride;   /* bytes of a record */
};

void ticket_idx_init(struct ticket_idx *x, size_t stride);
void ticket_idx_fini(struct ticket_idx *x);
/* Room for n entries in all. */
SQ_CHECK int ticket_idx_reserve(struct ticket_idx *x, const void *recs, uint32_t n);
/* Room for n entries in all, and the capacity that their array needs for as many: the `cap` that it has, or
 * at least half as much again. TICKET_IDX_NONE: no memory, or too many. */
SQ_CHECK uint32_t ticket_idx_grown(struct ticket_idx *x, const void *recs, uint64_t n, uint32_t cap);
uint32_t ticket_idx_find(const struct ticket_idx *x, const void *recs, struct ticket_id id);
/* Room must have been reserved; the id of record i must not be there yet. */
void ticket_idx_put(struct ticket_idx *x, const void *recs, uint32_t i);
void ticket_idx_del(struct ticket_idx *x, const void *recs, uint32_t i);

#endif
