/* block.c: the pool of blocks, and what is done to a whole block at once. */
#include "segment/block.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define BLOCK_ALIGN 128u
#define SMALL_BYTES (204 * sizeof(struct block) + BLOCK_ALIGN)
#define LARGE_BYTES (2u << 20) /* a huge page: random access is bound by page walks */
#define LARGE_FROM  2048u      /* blocks; a pool that has so many grows by large chunks */

struct block_chunk {
    struct list_node node;
    void *raw;          /* owned: what malloc gave */
    struct block *free; /* given back, linked by next */
    size_t n_bytes;
    uint32_t n_blocks, n_used;
    uint32_t n_fresh; /* blocks never taken yet start here: their pages are untouched */
    struct block *v;
};

_Static_assert(sizeof(struct block) == 640, "five pairs of cache lines");

void block_pool_init(struct block_pool *p, uint64_t max_blocks)
{
    memset(p, 0, sizeof(*p));
    list_init(&p->open);
    list_init(&p->full);
    p->max_blocks = max_blocks;
}

static void chunk_free(struct block_pool *p, struct list *l, struct block_chunk *c)
{
    list_remove(l, &c->node);
    p->n_bytes -= c->n_bytes;
    free(c->raw);
    free(c);
}

void block_pool_fini(struct block_pool *p)
{
    list_each (&p->open, it)
        chunk_free(p, &p->open, container_of(it, struct block_chunk, node));
    list_each (&p->full, it)
        chunk_free(p, &p->full, container_of(it, struct block_chunk, node));
}

static struct block_chunk *chunk_new(struct block_pool *p)
{
    struct block_chunk *c = calloc(1, sizeof(*c));
    bool large = p->n_blocks >= LARGE_FROM;

    if (c == NULL)
        return NULL;
    c->n_bytes = large ? LARGE_BYTES : SMALL_BYTES;
    c->raw = large ? aligned_alloc(LARGE_BYTES, LARGE_BYTES) : malloc(SMALL_BYTES);
    if (c->raw == NULL) {
        free(c);
        return NULL;
    }
    if (large)
        (void)madvise(c->raw, LARGE_BYTES, MADV_HUGEPAGE); /* a hint */
    c->n_blocks = (uint32_t)((c->n_bytes - BLOCK_ALIGN) / sizeof(struct block));
    c->v = (struct block *)(((uintptr_t)c->raw + BLOCK_ALIGN - 1) &
                            ~(uintptr_t)(BLOCK_ALIGN - 1));
    list_push_front(&p->open, &c->node);
    p->n_bytes += c->n_bytes;
    p->n_empty++;
    return c;
}

struct block *block_take(struct block_pool *p)
{
    struct block_chunk *c = list_entry(list_first(&p->open), struct block_chunk, node);
    struct block *b;

    if (p->n_blocks >= p->max_blocks)
        return NULL;
    if (c == NULL)
        c = chunk_new(p);
    if (c == NULL)
        return NULL;
    b = c->free;
    if (b != NULL)
        c->free = b->next;
    else
        b = &c->v[c->n_fresh++];
    memset(b, 0, offsetof(struct block, idle));
    b->chunk = c;
    p->n_blocks++;
    if (c->n_used++ == 0)
        p->n_empty--;
    if (c->n_used == c->n_blocks) {
        list_remove(&p->open, &c->node);
        list_push_back(&p->full, &c->node);
    }
    return b;
}

void block_give(struct block_pool *p, struct block *b)
{
    struct block_chunk *c = b->chunk;

    if (c->n_used == c->n_blocks) {
        list_remove(&p->full, &c->node);
        list_push_front(&p->open, &c->node);
    }
    b->next = c->free;
    c->free = b;
    p->n_blocks--;
    if (--c->n_used > 0)
        return;
    if (p->n_empty > 0)
        chunk_free(p, &p->open, c);
    else
        p->n_empty++;
}

unsigned block_count(const struct block *b)
{
    unsigned n = 0;

    for (unsigned w = 0; w < BLOCK_WORDS; w++)
        n += bits64(b->alive[w]);
    return n;
}

void block_recount(struct block *b)
{
    b->sub = 0;
    for (unsigned w = 0; w < BLOCK_WORDS; w++)
        b->sub += block_behind(w) * bits64(b->alive[w]);
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

enum dead block_epitaph(const struct block *b, unsigned n)
{
    for (unsigned i = 1; i < n; i++)
        if (b->idle[i] != b->idle[0])
            return DEAD_UNSAID;
    return n > 0 ? (enum dead)b->idle[0] : DEAD_UNSAID;
}
