/* block.h: 512 consecutive ticket numbers of one segment, and the pool they come from.
 * Pure.
 *
 * A block is an alive bitmap (one cache line) and one byte per slot. The byte of a living
 * slot is the idle unit (modulo 256) at which it times out; the byte of a dead one says
 * what it died of (enum dead). Packed sub-counts go with it: field w is how many slots
 * are alive in the words before word w, so the rank inside a block is one shift and one
 * popcount. The owner of the block keeps them, close together for many blocks: a
 * rank then reads one line of the block, and a poll two.
 *
 * Memory: a pool owns all blocks of a node. A segq takes and gives single blocks. */
#ifndef SEGQ_BLOCK_H
#define SEGQ_BLOCK_H

#include "common/base/slab.h"

#define BLOCK_SLOTS 512u
#define BLOCK_SHIFT 9
#define BLOCK_WORDS 8

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

static inline unsigned bits64(uint64_t x)
{
#ifdef __POPCNT__
    return (unsigned)__builtin_popcountll(x);
#else
    x -= (x >> 1) & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (unsigned)((x * 0x0101010101010101u) >> 56);
#endif
}

/* 1 in the field of every word behind w. Word w's field: 9 bits at 63 - 9 * w. */
static inline uint64_t block_behind(unsigned w)
{
    return 0x0040201008040201u & ((1ull << (63 - 9 * w)) - 1);
}

static inline bool block_is_alive(const struct block *b, unsigned slot)
{
    return (b->alive[slot >> 6] >> (slot & 63)) & 1;
}

/* Living slots before `slot`. sub: the block's sub-counts. */
static inline unsigned block_rank(const struct block *b, uint64_t sub, unsigned slot)
{
    unsigned w = slot >> 6;
    uint64_t before = b->alive[w] & ((1ull << (slot & 63)) - 1);

    return (unsigned)((sub >> (63 - 9 * w)) & 511) + bits64(before);
}

/* The slot must be dead. */
static inline void block_raise(struct block *b, uint64_t *sub, unsigned slot,
                               uint8_t deadline)
{
    b->alive[slot >> 6] |= 1ull << (slot & 63);
    *sub += block_behind(slot >> 6);
    b->idle[slot] = deadline;
}

/* The slot must be alive. */
static inline void block_kill(struct block *b, uint64_t *sub, unsigned slot,
                              enum dead why)
{
    b->alive[slot >> 6] &= ~(1ull << (slot & 63));
    *sub -= block_behind(slot >> 6);
    b->idle[slot] = (uint8_t)why;
}

unsigned block_count(const struct block *b);
/* The sub-counts of the bitmap. */
uint64_t block_subs(const struct block *b);
/* Living slots of word w whose deadline has come at unit `now`, as a bitmap. */
uint64_t block_due(const struct block *b, unsigned w, uint8_t now);
/* The cause of death of the slots before n, if all have the same; all must be dead. */
enum dead block_death(const struct block *b, unsigned n);

#endif
