/* rank.c: counts of blocks and of chunks over bitmaps. */
#include "task/containers/rank.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"

#define BLOCK_BITS 512u
#define WORDS      (BLOCK_BITS / 64)
#define CHUNK_MAX  64u /* blocks */

/* n[level]: numbers of that level or above. */
struct rank_block {
    uint64_t at : 48;    /* numbers of it, divided by BLOCK_BITS */
    uint64_t held : 10;  /* numbers that may come back */
    uint64_t planes : 6; /* bitmaps behind the first one: bits of the levels, the lowest first */
    uint64_t *bits; /* owned; WORDS each; the first one: who is there */
    uint16_t n[RANK_LEVELS];
};

struct rank_chunk {
    struct rank_block *v; /* owned; by `at` */
    uint32_t n_blocks, cap;
    uint32_t n[RANK_LEVELS];
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

static unsigned planes_of(unsigned level)
{
    return level == 0 ? 0 : 32 - (unsigned)__builtin_clz(level);
}

static bool grow(struct rank_block *b, unsigned planes)
{
    size_t now = (b->planes + 1u) * WORDS, want = (planes + 1) * WORDS;
    uint64_t *bits = realloc(b->bits, want * sizeof(*bits));

    if (bits == NULL)
        return false;
    memset(bits + now, 0, (want - now) * sizeof(*bits));
    b->bits = bits;
    b->planes = planes & 63;
    return true;
}

/* Bitmaps for the level; it never has fewer again. False: no memory. */
static inline bool reach(struct rank_block *b, unsigned level)
{
    return level >> b->planes == 0 || grow(b, planes_of(level));
}

/* A new block behind all, or in front. NULL: no memory. */
static struct rank_block *new_block(struct rank *r, uint64_t at, bool in_front, unsigned level,
                                    struct rank_chunk **in)
{
    unsigned planes = planes_of(level);
    uint64_t *bits = calloc((planes + 1) * WORDS, sizeof(*bits));
    struct rank_chunk *c = bits != NULL ? room(r, in_front) : NULL;
    struct rank_block *b;

    if (c == NULL) {
        free(bits);
        return NULL;
    }
    b = &c->v[in_front ? 0 : c->n_blocks];
    memmove(b + 1, b, (size_t)(c->v + c->n_blocks - b) * sizeof(*b));
    *b = (struct rank_block){ .at = at & (UINT64_MAX >> 16), .planes = planes & 63, .bits = bits };
    c->n_blocks++;
    *in = c;
    return b;
}

static unsigned level_of(const struct rank_block *b, uint32_t bit)
{
    unsigned level = 0;

    for (unsigned k = 0; k < b->planes; k++)
        level |= (unsigned)(b->bits[(k + 1) * WORDS + bit / 64] >> bit % 64 & 1) << k;
    return level;
}

/* Adds, or takes away (by -1), what a level above 0 has beside the bit and the count that all have. */
static void count_level(struct rank_chunk *c, struct rank_block *b, uint32_t bit, unsigned level, int by)
{
    for (unsigned k = 0; level >> k != 0; k++)
        b->bits[(k + 1) * WORDS + bit / 64] ^= (uint64_t)(level >> k & 1) << bit % 64;
    for (unsigned l = 1; l <= level; l++) {
        b->n[l] = (uint16_t)(b->n[l] + by);
        c->n[l] += (uint32_t)by;
    }
}

/* The block has the bitmaps. */
static inline void put(struct rank *r, struct rank_chunk *c, struct rank_block *b, uint64_t number, unsigned level)
{
    uint32_t bit = (uint32_t)(number % BLOCK_BITS);

    b->bits[bit / 64] |= 1ull << bit % 64;
    b->n[0]++;
    c->n[0]++;
    r->n++;
    if (level > 0)
        count_level(c, b, bit, level, 1);
}

/* The smallest number; there is one. Of a block with numbers that are held: its first. */
static uint64_t smallest(const struct rank *r)
{
    const struct rank_block *b = &r->chunk[0].v[0];
    uint32_t w = 0;

    if (b->held > 0)
        return b->at * BLOCK_BITS;

    while (b->bits[w] == 0)
        w++;
    return b->at * BLOCK_BITS + w * 64 + (unsigned)__builtin_ctzll(b->bits[w]);
}

int rank_add_first(struct rank *r, uint64_t *number, unsigned level)
{
    struct rank_chunk *c = r->n_chunks > 0 ? &r->chunk[0] : NULL;
    struct rank_block *b = c != NULL ? &c->v[0] : NULL;

    if (b == NULL) {
        *number = r->next;
        return rank_add(r, *number, level);
    }
    *number = smallest(r) - 1;
    if (*number == 0 || r->next - *number / BLOCK_BITS * BLOCK_BITS > RANK_SPAN)
        return SQ_EFULL;
    if (b->at != *number / BLOCK_BITS)
        b = new_block(r, *number / BLOCK_BITS, true, level, &c);
    if (b == NULL || !reach(b, level))
        return SQ_ENOMEM;
    put(r, c, b, *number, level);
    return 0;
}

int rank_add(struct rank *r, uint64_t number, unsigned level)
{
    struct rank_chunk *c = r->n_chunks > 0 ? &r->chunk[r->n_chunks - 1] : NULL;
    struct rank_block *b = c != NULL ? &c->v[c->n_blocks - 1] : NULL;

    assert(number >= r->next);
    if (b != NULL && number - r->chunk[0].v[0].at * BLOCK_BITS >= RANK_SPAN)
        return SQ_EFULL;
    if (b == NULL || b->at != number / BLOCK_BITS)
        b = new_block(r, number / BLOCK_BITS, false, level, &c);
    if (b == NULL || !reach(b, level))
        return SQ_ENOMEM;
    put(r, c, b, number, level);
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

/* If it has no number any more. */
static void give_back(struct rank *r, uint32_t chunk, uint32_t block)
{
    struct rank_chunk *c = &r->chunk[chunk];

    free(c->v[block].bits);
    c->n_blocks--;
    memmove(c->v + block, c->v + block + 1, (c->n_blocks - block) * sizeof(*c->v));
    if (c->n_blocks > 0)
        return;
    assert(c->n[0] == 0);
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

/* The block of one that must be there, or is held, and its chunk. */
static struct rank_block *find_there(const struct rank *r, uint64_t number, uint32_t *chunk, uint32_t *block)
{
    struct rank_block *b = find(r, number, chunk, block);
    uint32_t bit = (uint32_t)(number % BLOCK_BITS);

    assert(b != NULL && (b->held > 0 || (b->bits[bit / 64] >> bit % 64 & 1) != 0));
    (void)bit;
    return b;
}

static void take_out(struct rank *r, struct rank_chunk *c, struct rank_block *b, uint32_t bit)
{
    assert((b->bits[bit / 64] >> bit % 64 & 1) != 0);
    if (b->planes > 0)
        count_level(c, b, bit, level_of(b, bit), -1);
    b->bits[bit / 64] &= ~(1ull << bit % 64);
    b->n[0]--;
    c->n[0]--;
    r->n--;
}

void rank_del(struct rank *r, uint64_t number)
{
    uint32_t chunk, block;
    struct rank_block *b = find_there(r, number, &chunk, &block);

    take_out(r, &r->chunk[chunk], b, (uint32_t)(number % BLOCK_BITS));
    if (b->n[0] == 0 && b->held == 0)
        give_back(r, chunk, block);
}

void rank_hold(struct rank *r, uint64_t number)
{
    uint32_t chunk, block;
    struct rank_block *b = find_there(r, number, &chunk, &block);

    take_out(r, &r->chunk[chunk], b, (uint32_t)(number % BLOCK_BITS));
    b->held = (b->held + 1) & 1023;
}

void rank_put_back(struct rank *r, uint64_t number, unsigned level)
{
    uint32_t chunk, block;
    struct rank_block *b = find_there(r, number, &chunk, &block);

    assert(b->held > 0 && level >> b->planes == 0 && !rank_has(r, number));
    b->held = (b->held - 1) & 1023;
    put(r, &r->chunk[chunk], b, number, level);
}

void rank_let_go(struct rank *r, uint64_t number)
{
    uint32_t chunk, block;
    struct rank_block *b = find_there(r, number, &chunk, &block);

    assert(b->held > 0);
    b->held = (b->held - 1) & 1023;
    if (b->n[0] == 0 && b->held == 0)
        give_back(r, chunk, block);
}

int rank_reach_level(struct rank *r, uint64_t number, unsigned level)
{
    uint32_t chunk, block;

    return reach(find_there(r, number, &chunk, &block), level) ? 0 : SQ_ENOMEM;
}

void rank_set_level(struct rank *r, uint64_t number, unsigned level)
{
    uint32_t chunk, block, bit = (uint32_t)(number % BLOCK_BITS);
    struct rank_block *b = find_there(r, number, &chunk, &block);

    count_level(&r->chunk[chunk], b, bit, level_of(b, bit), -1);
    count_level(&r->chunk[chunk], b, bit, level, 1);
}

/* Numbers of a word that are of this level or above: their bits are compared with it, the highest first. */
static uint64_t at_least(const struct rank_block *b, uint32_t word, unsigned level)
{
    uint64_t equal = b->bits[word], above = 0;

    for (unsigned k = RANK_LEVEL_BITS; k-- > 0;) {
        uint64_t bits = k < b->planes ? b->bits[(k + 1) * WORDS + word] : 0;

        if ((level >> k & 1) == 0) {
            above |= equal & bits;
            bits = ~bits;
        }
        equal &= bits;
    }
    return above | equal;
}

uint64_t rank_before(const struct rank *r, uint64_t number, unsigned level)
{
    uint32_t chunk = 0, block = 0, bit = (uint32_t)(number % BLOCK_BITS);
    const struct rank_block *b = find(r, number, &chunk, &block);
    uint64_t n = 0;

    if (r->n_chunks == 0)
        return 0;
    for (uint32_t c = 0; c < chunk; c++)
        n += r->chunk[c].n[level];
    for (uint32_t i = 0; i < block; i++)
        n += r->chunk[chunk].v[i].n[level];
    if (b == NULL)
        return n;
    for (uint32_t w = 0; w < bit / 64; w++)
        n += (unsigned)__builtin_popcountll(at_least(b, w, level));
    return n + (unsigned)__builtin_popcountll(at_least(b, bit / 64, level) & ((1ull << bit % 64) - 1));
}

uint64_t rank_bytes(const struct rank *r)
{
    uint64_t bytes = (uint64_t)r->cap * sizeof(*r->chunk);

    for (uint32_t c = 0; c < r->n_chunks; c++) {
        bytes += r->chunk[c].cap * sizeof(struct rank_block);
        for (uint32_t b = 0; b < r->chunk[c].n_blocks; b++)
            bytes += (r->chunk[c].v[b].planes + 1u) * (BLOCK_BITS / 8);
    }
    return bytes;
}
