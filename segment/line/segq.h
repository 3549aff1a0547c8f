/* segq.h: the waiting tickets of one segment, oldest first. Pure.
 *
 *   number = slot: number 1234 is slot 1234 & 511 of block 1234 >> 9
 *   rank   = pos_tag of its block + living slots before it in the block
 *
 * A drop clears a bit and lowers its block's count; the tags of the blocks behind follow
 * in one prefix pass, segq_settle(), once per tick. So a rank may be a tick old: it is
 * never too small, never grows, and never contradicts the order.
 * A block is freed when all its slots have been given out and are dead, wherever it is.
 *
 * Memory: a segq owns its arrays and its blocks (which it takes from a pool). */
#ifndef SEGQ_SEGQ_H
#define SEGQ_SEGQ_H

#include "common/base/err.h"
#include "segment/line/block.h"

#define SEGQ_NONE UINT32_MAX /* no such number */

struct segq {
    struct block_pool *pool; /* ref */
    struct block **block;    /* owned array of owned blocks; NULL = freed */
    uint64_t *sub;           /* packed sub-counts; see block.h */
    uint32_t *tag;           /* living slots in the blocks before */
    uint16_t *count;         /* living slots in this block */
    uint8_t *died_of;           /* enum dead of a freed block */
    uint32_t n_blocks, cap_blocks;
    struct block *reserve; /* owned: taken by segq_reserve(), used first */
    uint32_t n_reserve;
    uint32_t end;        /* the next number */
    uint32_t head;       /* blocks before this one are freed */
    uint32_t popped_end; /* end of the numbers popped */
    uint32_t waiting;
    uint32_t stale; /* tags from this block on are old; SEGQ_NONE: none */
    bool sealed;
    bool rebuilding; /* a number that is not alive and died of nothing is not known yet */
};

void segq_init(struct segq *q, struct block_pool *pool);
void segq_fini(struct segq *q);

/* 0 and *number; SQ_ESEALED; SQ_ENOMEM (nothing has changed). */
SQ_CHECK int segq_append(struct segq *q, uint8_t deadline, uint32_t *number);
/* n of them, in this order; block by block, so ten times as fast. SQ_ENOMEM: some may
 * have been taken. */
SQ_CHECK int segq_append_many(struct segq *q, const uint8_t *deadline, uint32_t n);
/* Takes memory for n more appends, which then cannot fail; SQ_ENOMEM: none taken. */
SQ_CHECK int segq_reserve(struct segq *q, uint32_t n);
void segq_unreserve(struct segq *q);
/* The next numbers, up to n: dead, as if they had been popped. Returns how many, fewer without
 * memory; not of a sealed line. */
uint32_t segq_set_aside(struct segq *q, uint32_t n);
/* No append from now on. (A move's target is opened again for the commit.) */
void segq_seal(struct segq *q);
void segq_unseal(struct segq *q);

/* The slot's block; NULL if it has been freed or was never there. */
static inline struct block *segq_block(const struct segq *q, uint32_t number)
{
    uint32_t b = number >> BLOCK_SHIFT;

    return b < q->n_blocks ? q->block[b] : NULL;
}

static inline bool segq_is_alive(const struct segq *q, uint32_t number)
{
    const struct block *b = segq_block(q, number);

    return b != NULL && block_is_alive(b, number & (BLOCK_SLOTS - 1));
}

/* Living tickets before `number`, whose block must be there. */
static inline uint32_t segq_rank(const struct segq *q, uint32_t number)
{
    uint32_t b = number >> BLOCK_SHIFT;

    return q->tag[b] + block_rank(q->block[b], q->sub[b], number & (BLOCK_SLOTS - 1));
}

/* When a living ticket times out. */
static inline uint8_t segq_deadline(const struct segq *q, uint32_t number)
{
    return q->block[number >> BLOCK_SHIFT]->idle[number & (BLOCK_SLOTS - 1)];
}

static inline void segq_mark(struct segq *q, uint32_t number, uint8_t deadline)
{
    q->block[number >> BLOCK_SHIFT]->idle[number & (BLOCK_SLOTS - 1)] = deadline;
}

/* false: it was dead already. */
bool segq_drop(struct segq *q, uint32_t number, enum dead why);
/* The cause of death of a dead number, if it is still known. */
enum dead segq_death(const struct segq *q, uint32_t number);
/* Takes up to n oldest into out; returns how many. */
uint32_t segq_pop(struct segq *q, uint32_t n, uint32_t *out);

/* ---- a line that is rebuilt, ticket by ticket --------------------------------------
 * It is sealed, all numbers below `end` were given out, and each is unknown until it is
 * restored or killed. No block is freed; ranks mean nothing. */
SQ_CHECK int segq_rebuild(struct segq *q, uint32_t end); /* a new one; or SQ_ENOMEM */
bool segq_is_unknown(const struct segq *q, uint32_t number);
/* The number must be unknown. 0 or SQ_ENOMEM. */
SQ_CHECK int segq_restore(struct segq *q, uint32_t number, uint8_t deadline);
SQ_CHECK int segq_kill(struct segq *q, uint32_t number, enum dead why);
uint32_t segq_first_unknown(const struct segq *q, uint32_t from); /* `end`: none */
uint32_t segq_before(const struct segq *q, uint32_t number); /* living; counted, not looked up */
/* The unknown are dead: below `popped` released, else expired. */
void segq_rebuilt(struct segq *q, uint32_t popped);

void segq_free_dead(struct segq *q); /* after all blocks were written anew */

/* Makes all tags exact. */
void segq_settle(struct segq *q);

/* Sweeps the first living block at or after *block: those whose deadline has come by
 * unit `now` die of DEAD_EXPIRED and are written to out[BLOCK_SLOTS]. Returns how many;
 * *block is the one to go on with, or n_blocks at the end. */
uint32_t segq_sweep(struct segq *q, uint8_t now, uint32_t *block, uint32_t *out);
/* The first living number at or after `from`; SEGQ_NONE if there is none. */
uint32_t segq_next(const struct segq *q, uint32_t from);
/* Every living deadline becomes fn(ctx, deadline). */
void segq_remark(struct segq *q, uint8_t (*fn)(void *ctx, uint8_t deadline), void *ctx);
size_t segq_bytes(const struct segq *q); /* bytes of its arrays and blocks */

/* Slots of block b that were ever given; b is one of n_blocks. */
static inline uint32_t segq_given(const struct segq *q, uint32_t b)
{
    uint64_t end = (uint64_t)(b + 1) << BLOCK_SHIFT;

    return end <= q->end ? BLOCK_SLOTS : q->end - (b << BLOCK_SHIFT);
}

#endif
