/* memory.h: memory in other pieces than malloc's: many of one size (slabs); what is given back all at
 * once (an arena). Pure, as malloc is: slabs ask the system for memory and advise it, nothing else. */
#ifndef SEGQ_COMMON_BASE_MEMORY_H
#define SEGQ_COMMON_BASE_MEMORY_H

#include "common/base/base.h"
#include "common/base/list.h"

/* Many pieces of one size, out of slabs of 2 MiB that lie at multiples of 2 MiB.
 *
 * A piece finds its slab by its address, so a piece costs nothing beside itself. All
 * slabs but the first are one huge page each: random access to many pieces is bound by
 * the walks for addresses. Of the first only the pages in use exist, so a pool with few
 * pieces is small. A slab without pieces goes back to the system; one is kept, without
 * its pages if they were many. */

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

/* Memory that is given back all at once: for what one call or one turn needs: decoded messages, an outbox. */

struct arena_chunk;
struct arena {
    struct arena_chunk *chunk; /* newest first */
    size_t used;               /* in the newest */
    bool failed;               /* an allocation failed since the last reset */
};

void arena_init(struct arena *a);
void arena_fini(struct arena *a);
/* Zeroed, 16-byte aligned; NULL: no memory (and `failed` is set). n may be 0. */
void *arena_alloc(struct arena *a, size_t n);
void *arena_array(struct arena *a, size_t n, size_t size); /* checks n * size */
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n); /* s may be NULL if n is 0 */
void *arena_memdup(struct arena *a, const void *p, size_t n);
/* Everything handed out is invalid. Keeps one chunk, so a turn does not malloc. */
void arena_reset(struct arena *a);

#endif
