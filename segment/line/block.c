/* block.c: the pool of blocks, and what is done to a whole block at once. */
#include "segment/line/block.h"

#include <assert.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

_Static_assert(sizeof(struct block) == 9 * SLAB_LINE, "whole cache lines");

void block_pool_init(struct block_pool *p, uint64_t max_blocks)
{
    slab_init(&p->slabs, sizeof(struct block));
    p->n_blocks = 0;
    p->max_blocks = max_blocks;
}

void block_pool_fini(struct block_pool *p)
{
    slab_fini(&p->slabs);
}

struct block *block_take(struct block_pool *p)
{
    struct block *b = p->n_blocks < p->max_blocks ? slab_take(&p->slabs) : NULL;

    if (b == NULL)
        return NULL;
    memset(b->alive, 0, sizeof(b->alive));
    p->n_blocks++;
    return b;
}

void block_give(struct block_pool *p, struct block *b)
{
    assert(p->n_blocks > 0);
    slab_give(&p->slabs, b);
    p->n_blocks--;
}

uint64_t block_due(const struct block *b, unsigned w, uint8_t now)
{
    const uint8_t *p = b->idle + w * 64;
    uint64_t due = 0;

    if (b->alive[w] == 0)
        return 0;
#ifdef __SSE2__
    __m128i n = _mm_set1_epi8((char)now), one = _mm_set1_epi8(1);

    for (unsigned i = 0; i < 4; i++) {
        __m128i left = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(p + i * 16)), n);
        unsigned m = (unsigned)_mm_movemask_epi8(_mm_cmpgt_epi8(one, left));

        due |= (uint64_t)m << (i * 16);
    }
#else
    for (unsigned i = 0; i < 64; i++)
        due |= (uint64_t)((int8_t)(uint8_t)(p[i] - now) <= 0) << i;
#endif
    return due & b->alive[w];
}

enum dead block_death(const struct block *b, unsigned n)
{
    for (unsigned i = 1; i < n; i++)
        if (b->idle[i] != b->idle[0])
            return DEAD_UNKNOWN;
    return n > 0 ? (enum dead)b->idle[0] : DEAD_UNKNOWN;
}
