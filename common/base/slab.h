/* slab.h: many pieces of one size, out of slabs of 2 MiB that lie at multiples of 2 MiB.
 * Pure, as malloc is: it asks the system for memory and advises it, nothing else.
 *
 * A piece finds its slab by its address, so a piece costs nothing beside itself. All
 * slabs but the first are one huge page each: random access to many pieces is bound by
 * the walks for addresses. Of the first only the pages in use exist, so a pool with few
 * pieces is small. A slab without pieces goes back to the system; one is kept, without
 * its pages if they were many. */
#ifndef SEGQ_SLAB_H
#define SEGQ_SLAB_H

#include "common/base/base.h"
#include "common/base/list.h"

#define SLAB_BYTES ((size_t)2 << 20)
#define SLAB_LINE  64 /* where pieces begin, if their size is a multiple of it */

struct slab_pool {
    struct list open, full; /* slabs with and without a free piece */
    size_t piece;           /* bytes */
    uint32_t per_slab;
    uint32_t n_empty; /* slabs without pieces: at most 1 */
    uint64_t n_used;  /* pieces */
    uint64_t n_bytes; /* bytes of pieces ever used whose memory has not gone back */
};

/* piece: at least a pointer's size and a multiple of it, at most a quarter of a slab. */
void slab_init(struct slab_pool *p, size_t piece);
/* Everything goes back, also pieces that were not given. */
void slab_fini(struct slab_pool *p);
/* Not zeroed; NULL: no memory. */
void *slab_take(struct slab_pool *p);
void slab_give(struct slab_pool *p, void *piece);

#endif
