/* line.h: who waits of one name, in a router's memory: a bit a number, and ranks. Pure.
 *
 * A name is a segment as tokens call it. A rank is tag + sub-count + one popcount (bits512.h).
 * Blocks in which nobody waits cost 20 bytes, others 84: 0.164 byte a number.
 *
 * Memory: a line owns its arrays and its blocks, which it takes from a pool that all lines of a
 * router share and that bounds them together. Errors: SQ_EPROTO: the row is damaged, or does not
 * follow what was said before; SQ_ENOMEM. After either the line is good for line_fini() only. */
#ifndef SEGQ_ROUTER_LINE_H
#define SEGQ_ROUTER_LINE_H

#include "common/base/bits512.h"
#include "common/base/err.h"
#include "common/base/map.h"
#include "common/base/memory.h"
#include "common/wire/msg_router_segment.h"

struct line_block {
    uint64_t alive[BITS512_WORDS];
};

struct line_pool {
    struct slab_pool slabs; /* pieces for struct line_block */
    size_t n_bytes, max_bytes; /* bytes of all lines, and what else their owner charges */
    uint32_t n_links;   /* links of all its streams, ever */
    uint64_t n_changes; /* changes of all lines, ever */
};

struct line {
    struct line_pool *pool; /* ref */
    struct line_block **block; /* NULL: nobody waits there */
    uint64_t *sub;           /* sub-counts of each block */
    uint32_t *tag;           /* number waiting in the blocks before */
    uint32_t cap;            /* blocks that the arrays have room for */
    uint32_t end, head;      /* struct replica_row */
    uint64_t version;        /* another one when bits have changed; no two lines have the same */
    uint32_t stale;          /* tags behind this block are old: no rank is asked for */
    struct map over;         /* numbers that wait no more, until a row says so, too */
};

void line_pool_init(struct line_pool *p, size_t max_bytes);
void line_pool_fini(struct line_pool *p);
/* False: above the bound. */
SQ_CHECK bool line_pool_charge(struct line_pool *p, size_t bytes);
void line_pool_credit(struct line_pool *p, size_t bytes);

void line_init(struct line *l, struct line_pool *pool);
void line_fini(struct line *l);
SQ_CHECK int line_apply(struct line *l, const struct replica_row *row);
/* Tags are counted anew: after the last row of a push. */
void line_settle(struct line *l);

static inline uint32_t line_blocks(const struct line *l)
{
    return (uint32_t)(((uint64_t)l->end + BITS512_N - 1) >> BITS512_SHIFT);
}

static inline bool line_bit(const struct line *l, uint32_t number)
{
    const struct line_block *k;

    return number < l->end && (k = l->block[number >> BITS512_SHIFT]) != NULL &&
           bits512_has(k->alive, number & (BITS512_N - 1));
}

static inline bool line_has(const struct line *l, uint32_t number)
{
    return line_bit(l, number) &&
           (SQ_LIKELY(l->over.n == 0) || map_get(&l->over, number) == MAP_NONE);
}

/* Whether `number` waits, and how many before it. */
static inline bool line_rank(const struct line *l, uint32_t number, uint32_t *rank)
{
    uint32_t b = number >> BITS512_SHIFT, i = number & (BITS512_N - 1);
    const struct line_block *k;

    if (!line_has(l, number))
        return false;
    k = l->block[b];
    *rank = l->tag[b] + bits512_rank(k->alive, l->sub[b], i);
    return true;
}

/* The lowest number that waits; `end`: nobody does. */
uint32_t line_first(const struct line *l);

/* A number of which this router knows that it waits no more; may be any. Its place goes with the
 * next row and not before: a node may count it for a while (who was released, and has left before
 * that was stored). Without memory, or room, it waits until then. */
void line_over(struct line *l, uint32_t number);

#endif
