/* bits512.h: a bitmap of 512, one cache line, and its rank. Pure.
 *
 * Packed sub-counts go with a bitmap: field w is how many bits are set in the words before word
 * w, so the rank inside the bitmap is one shift and one popcount. Who owns the bitmap keeps
 * them. */
#ifndef SEGQ_BITS512_H
#define SEGQ_BITS512_H

#include "common/base/base.h"

#define BITS512_N     512u
#define BITS512_SHIFT 9
#define BITS512_WORDS 8

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
static inline uint64_t bits512_behind(unsigned w)
{
    return 0x0040201008040201u & ((1ull << (63 - 9 * w)) - 1);
}

static inline bool bits512_has(const uint64_t v[BITS512_WORDS], unsigned i)
{
    return (v[i >> 6] >> (i & 63)) & 1;
}

/* Set bits before bit i. sub: the sub-counts. */
static inline unsigned bits512_rank(const uint64_t v[BITS512_WORDS], uint64_t sub, unsigned i)
{
    unsigned w = i >> 6;
    uint64_t before = v[w] & ((1ull << (i & 63)) - 1);

    return (unsigned)((sub >> (63 - 9 * w)) & 511) + bits64(before);
}

/* Bit i must be clear. */
static inline void bits512_set(uint64_t v[BITS512_WORDS], uint64_t *sub, unsigned i)
{
    v[i >> 6] |= 1ull << (i & 63);
    *sub += bits512_behind(i >> 6);
}

/* Bit i must be set. */
static inline void bits512_clear(uint64_t v[BITS512_WORDS], uint64_t *sub, unsigned i)
{
    v[i >> 6] &= ~(1ull << (i & 63));
    *sub -= bits512_behind(i >> 6);
}

static inline unsigned bits512_count(const uint64_t v[BITS512_WORDS])
{
    unsigned n = 0;

    for (unsigned w = 0; w < BITS512_WORDS; w++)
        n += bits64(v[w]);
    return n;
}

/* The sub-counts of a bitmap. */
static inline uint64_t bits512_subs(const uint64_t v[BITS512_WORDS])
{
    uint64_t sub = 0;

    for (unsigned w = 0; w < BITS512_WORDS; w++)
        sub += bits512_behind(w) * bits64(v[w]);
    return sub;
}

/* The bits of word w that are below bit n of the bitmap; n <= 512. */
static inline uint64_t bits512_below(unsigned w, unsigned n)
{
    if (n >= (w + 1) << 6)
        return UINT64_MAX;
    return n <= w << 6 ? 0 : (1ull << (n & 63)) - 1;
}

/* The bits of word w from bit `from` to the one before `end`. */
static inline uint64_t bits512_run(unsigned w, unsigned from, unsigned end)
{
    return bits512_below(w, end) & ~bits512_below(w, from);
}

#endif
