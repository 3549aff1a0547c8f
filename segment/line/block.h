/* block.h: 512 consecutive ticket numbers of one segment, and the pool they come from.
 * Pure.
 *
 * A block is an alive bitmap (one cache line) and one byte per slot. The byte of a living
 * slot is the idle unit (modulo 256) at which it times out; the byte of a dead one says
 * what it died of (enum dead). The owner of the block keeps the bitmap's sub-counts (bits512.h),
 * close together for many blocks: a rank then reads one line of the block, and a poll two.
 *
 * Memory: a pool owns all blocks of a node. A segq takes and gives single blocks. */
#ifndef SEGQ_BLOCK_H
#define SEGQ_BLOCK_H

#include "common/base/bits512.h"
#include "common/base/memory.h"

#define BLOCK_SLOTS BITS512_N
#define BLOCK_SHIFT BITS512_SHIFT
#define BLOCK_WORDS BITS512_WORDS

enum dead {
    DEAD_UNKNOWN = 0, /* a whole block's: its slots died of different things */
    DEAD_LEFT,
    DEAD_EXPIRED,
    DEAD_POPPED,
};

struct block {
    union {
        uint64_t alive[BLOCK_WORDS];
        struct block *next; /* in a reserve: nothing is alive in it */
    };
    uint8_t idle[BLOCK_SLOTS];
};

struct block_pool {
    struct slab_pool slabs;
    uint64_t n_blocks; /* taken now */
    uint64_t max_blocks;
};

void block_pool_init(struct block_pool *p, uint64_t max_blocks);
void block_pool_fini(struct block_pool *p);
/* All dead; NULL: no memory, or max_blocks are taken. */
struct block *block_take(struct block_pool *p);
void block_give(struct block_pool *p, struct block *b);
static inline uint64_t block_pool_bytes(const struct block_pool *p)
{
    return p->slabs.n_bytes;
}

static inline bool block_is_alive(const struct block *b, unsigned slot)
{
    return bits512_has(b->alive, slot);
}

/* Living slots before `slot`. sub: the block's sub-counts. */
static inline unsigned block_rank(const struct block *b, uint64_t sub, unsigned slot)
{
    return bits512_rank(b->alive, sub, slot);
}

/* The slot must be dead. */
static inline void block_raise(struct block *b, uint64_t *sub, unsigned slot,
                               uint8_t deadline)
{
    bits512_set(b->alive, sub, slot);
    b->idle[slot] = deadline;
}

/* The slot must be alive. */
static inline void block_kill(struct block *b, uint64_t *sub, unsigned slot,
                              enum dead why)
{
    bits512_clear(b->alive, sub, slot);
    b->idle[slot] = (uint8_t)why;
}

/* Living slots of word w whose deadline has come at unit `now`, as a bitmap. */
uint64_t block_due(const struct block *b, unsigned w, uint8_t now);
/* The cause of death of the slots before n, if all have the same; all must be dead. */
enum dead block_death(const struct block *b, unsigned n);

#endif
