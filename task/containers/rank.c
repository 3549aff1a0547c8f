/* rank.c: two levels of counts over bitmaps. */
#include "task/containers/rank.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"

#define BLOCK_BITS 512u
#define WORDS      (BLOCK_BITS / 64)
#define CHUNK_MAX  64u /* blocks */

struct rank_block {
    uint64_t at; /* numbers of it, divided by BLOCK_BITS */
    uint64_t *bits; /* owned; WORDS */
    uint32_t n;
};

struct rank_chunk {
    struct rank_block *v; /* owned; by `at` */
    uint32_t n_blocks, cap;
    uint32_t n; /* numbers */
};

void rank_init(struct rank *r)
{
    memset(r, 0, sizeof(*r));
    r->next = RANK_FIRST;
}

void rank_fini(struct rank *r)
{
    for (uint32_t c = 0; c < r->n_chunks; c++) {
        for (uint32_t b = 0; b < r->chunk[c].n_blocks; b++)
            free(r->chunk[c].v[b].bits);
        free(r->chunk[c].v);
    }
    free(r->chunk);
    rank_init(r);
}

/* The chunk for a new block, with room for it: the one at that end, or a new one. NULL: no memory. */
static struct rank_chunk *room(struct rank *r, bool in_front)
{
    struct rank_chunk *c = r->n_chunks == 0 ? NULL : &r->chunk[in_front ? 0 : r->n_chunks - 1];
    struct rank_chunk fresh = { 0 };

    if (c != NULL && c->n_blocks < CHUNK_MAX)
        return GROW(c->v, c->n_blocks, c->cap, 2) ? c : NULL;
    if (!GROW(r->chunk, r->n_chunks, r->cap, 1) || !GROW(fresh.v, 0, fresh.cap, 1))
        return NULL;
    c = &r->chunk[in_front ? 0 : r->n_chunks];
    memmove(c + 1, c, (size_t)(r->chunk + r->n_chunks - c) * sizeof(*c));
    *c = fresh;
    r->n_chunks++;
    return c;
}

/* A new block behind all, or in front. NULL: no memory. */
static struct rank_block *new_block(struct rank *r, uint64_t at, bool in_front, uint32_t **sum)
{
    uint64_t *bits = calloc(WORDS, sizeof(*bits));
    struct rank_chunk *c = bits != NULL ? room(r, in_front) : NULL;
    struct rank_block *b;

    if (c == NULL) {
        free(bits);
        return NULL;
    }
    b = &c->v[in_front ? 0 : c->n_blocks];
    memmove(b + 1, b, (size_t)(c->v + c->n_blocks - b) * sizeof(*b));
    *b = (struct rank_block){ at, bits, 0 };
    c->n_blocks++;
    *sum = &c->n;
    return b;
}

static void put(struct rank *r, struct rank_block *b, uint32_t *sum, uint64_t number)
{
    uint32_t bit = (uint32_t)(number % BLOCK_BITS);

    b->bits[bit / 64] |= 1ull << bit % 64;
    b->n++;
    ++*sum;
    r->n++;
}

/* The smallest number; there is one. */
static uint64_t smallest(const struct rank *r)
{
    const struct rank_block *b = &r->chunk[0].v[0];
    uint32_t w = 0;

    while (b->bits[w] == 0)
        w++;
    return b->at * BLOCK_BITS + w * 64 + (unsigned)__builtin_ctzll(b->bits[w]);
}

int rank_add_first(struct rank *r, uint64_t *number)
{
    struct rank_block *b = r->n > 0 ? &r->chunk[0].v[0] : NULL;
    uint32_t *sum = b != NULL ? &r->chunk[0].n : NULL;

    if (b == NULL) {
        *number = r->next;
        return rank_add(r, *number);
    }
    *number = smallest(r) - 1;
    if (*number == 0 || r->next - *number / BLOCK_BITS * BLOCK_BITS > RANK_SPAN)
        return SQ_EFULL;
    if (b->at != *number / BLOCK_BITS)
        b = new_block(r, *number / BLOCK_BITS, true, &sum);
    if (b == NULL)
        return SQ_ENOMEM;
    put(r, b, sum, *number);
    return 0;
}

int rank_add(struct rank *r, uint64_t number)
{
    struct rank_chunk *c = r->n_chunks > 0 ? &r->chunk[r->n_chunks - 1] : NULL;
    struct rank_block *b = c != NULL ? &c->v[c->n_blocks - 1] : NULL;
    uint32_t *sum = c != NULL ? &c->n : NULL;

    assert(number >= r->next);
    if (b != NULL && number - r->chunk[0].v[0].at * BLOCK_BITS >= RANK_SPAN)
        return SQ_EFULL;
    if (b == NULL || b->at != number / BLOCK_BITS) {
        b = new_block(r, number / BLOCK_BITS, false, &sum);
        if (b == NULL)
            return SQ_ENOMEM;
    }
    put(r, b, sum, number);
    r->next = number + 1;
    return 0;
}

/* The first chunk that may have the block: the last one that does not begin after it. */
static uint32_t find_chunk(const struct rank *r, uint64_t at)
{
    uint32_t lo = 0, hi = r->n_chunks;

    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;

        if (r->chunk[mid].v[0].at <= at)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* The first block of the chunk that is not before `at`. */
static uint32_t find_block(const struct rank_chunk *c, uint64_t at)
{
    uint32_t lo = 0, hi = c->n_blocks;

    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (c->v[mid].at < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct rank_block *find(const struct rank *r, uint64_t number, uint32_t *chunk,
                               uint32_t *block)
{
    struct rank_chunk *c;
    uint64_t at = number / BLOCK_BITS;

    if (r->n_chunks == 0)
        return NULL;
    *chunk = find_chunk(r, at);
    c = &r->chunk[*chunk];
    *block = find_block(c, at);
    return *block < c->n_blocks && c->v[*block].at == at ? &c->v[*block] : NULL;
}

static void give_back(struct rank *r, uint32_t chunk, uint32_t block)
{
    struct rank_chunk *c = &r->chunk[chunk];

    free(c->v[block].bits);
    c->n_blocks--;
    memmove(c->v + block, c->v + block + 1, (c->n_blocks - block) * sizeof(*c->v));
    if (c->n_blocks > 0)
        return;
    assert(c->n == 0);
    free(c->v);
    r->n_chunks--;
    memmove(c, c + 1, (r->n_chunks - chunk) * sizeof(*c));
}

bool rank_has(const struct rank *r, uint64_t number)
{
    uint32_t chunk, block, bit = (uint32_t)(number % BLOCK_BITS);
    const struct rank_block *b = find(r, number, &chunk, &block);

    return b != NULL && (b->bits[bit / 64] >> bit % 64 & 1) != 0;
}

void rank_del(struct rank *r, uint64_t number)
{
    uint32_t chunk, block, bit = (uint32_t)(number % BLOCK_BITS);
    struct rank_block *b = find(r, number, &chunk, &block);

    assert(b != NULL && (b->bits[bit / 64] >> bit % 64 & 1) != 0);
    b->bits[bit / 64] &= ~(1ull << bit % 64);
    r->chunk[chunk].n--;
    r->n--;
    if (--b->n == 0)
        give_back(r, chunk, block);
}

uint64_t rank_before(const struct rank *r, uint64_t number)
{
    uint32_t chunk = 0, block = 0, bit = (uint32_t)(number % BLOCK_BITS);
    const struct rank_block *b = find(r, number, &chunk, &block);
    uint64_t n = 0;

    if (r->n_chunks == 0)
        return 0;
    for (uint32_t c = 0; c < chunk; c++)
        n += r->chunk[c].n;
    for (uint32_t i = 0; i < block; i++)
        n += r->chunk[chunk].v[i].n;
    if (b == NULL)
        return n;
    for (uint32_t w = 0; w < bit / 64; w++)
        n += (unsigned)__builtin_popcountll(b->bits[w]);
    return n + (unsigned)__builtin_popcountll(b->bits[bit / 64] & ((1ull << bit % 64) - 1));
}

uint64_t rank_bytes(const struct rank *r)
{
    uint64_t bytes = (uint64_t)r->cap * sizeof(*r->chunk);

    for (uint32_t c = 0; c < r->n_chunks; c++)
        bytes += r->chunk[c].cap * sizeof(struct rank_block) +
                 r->chunk[c].n_blocks * (BLOCK_BITS / 8);
    return bytes;
}
