/* replica_bytes.h: the bytes inside rows of REPLICA and SEEN: dead numbers, lines of bits, marks.
 * Pure.
 *
 *   dead    rising numbers: each as a varint of how many numbers were left out since the one
 *           before; the first one since the row's head
 *   lines   blocks of 512 numbers, from block 0 on: { varint: blocks that stay as they are,
 *           varint: blocks of which each number below the row's end is alive, varint: n, then
 *           n blocks of 64 bytes, bit i of byte k is number 8 * k + i of the block }, repeated
 *   marks   { zigzag varint: number - the number before (the first: 0), byte: the told interval's
 *           class (pace_class()) }, repeated; best sorted: then a mark is three bytes
 *
 * Readers never trust: false means that the bytes are damaged, and the link is to be closed. */
#ifndef SEGQ_REPLICA_BYTES_H
#define SEGQ_REPLICA_BYTES_H

#include "common/base/bits512.h"
#include "common/base/buf.h"

#define DEAD_BYTES_MAX 5 /* bytes of one */
#define MARK_BYTES_MAX 6

struct bytes_in {
    const uint8_t *p, *end;
};

static inline bool bytes_u32(struct bytes_in *in, uint32_t *v)
{
    uint64_t x;
    const uint8_t *p = varint_get(in->p, in->end, &x);

    if (p == NULL || x > UINT32_MAX)
        return false;
    in->p = p;
    *v = (uint32_t)x;
    return true;
}

/* *next: the row's head at first; numbers rise. */
static inline uint8_t *dead_put(uint8_t *p, uint32_t *next, uint32_t number)
{
    p = varint_put(p, number - *next);
    *next = number + 1;
    return p;
}

/* While in->p < in->end. number < end, if it is true. */
static inline bool dead_get(struct bytes_in *in, uint32_t *next, uint32_t end, uint32_t *number)
{
    uint32_t gap;

    if (!bytes_u32(in, &gap) || *next > end || gap >= end - *next)
        return false;
    *number = *next + gap;
    *next = *number + 1;
    return true;
}

struct lines_run { /* a run of blocks */
    uint32_t first;      /* block */
    uint32_t full;       /* this many from there are alive */
    uint32_t n;          /* and this many behind them have */
    const uint8_t *bits; /* these bits: 64 bytes each, not aligned */
};

/* A run behind block *next, 0 at first; *next is the block behind it afterwards. */
static inline uint8_t *lines_put(uint8_t *p, uint32_t *next, uint32_t first, uint32_t full,
                                 uint32_t n)
{
    p = varint_put(p, first - *next);
    p = varint_put(p, full);
    *next = first + full + n;
    return varint_put(p, n); /* the bits follow */
}

/* While in->p < in->end. All its blocks are below n_blocks, if it is true. */
static inline bool lines_get(struct bytes_in *in, uint32_t *next, uint32_t n_blocks,
                             struct lines_run *r)
{
    uint32_t gap;

    if (!bytes_u32(in, &gap) || !bytes_u32(in, &r->full) || !bytes_u32(in, &r->n) ||
        (uint64_t)*next + gap + r->full + r->n > n_blocks ||
        r->n > (size_t)(in->end - in->p) / (BITS512_N / 8))
        return false;
    r->first = *next + gap;
    r->bits = in->p;
    in->p += (size_t)r->n * (BITS512_N / 8);
    *next = r->first + r->full + r->n;
    return true;
}

/* *last: 0 at first. */
static inline uint8_t *mark_put(uint8_t *p, uint32_t *last, uint32_t number, uint8_t told)
{
    int64_t d = (int64_t)number - *last;

    p = varint_put(p, (uint64_t)d << 1 ^ (uint64_t)(d >> 63));
    *p++ = told;
    *last = number;
    return p;
}

/* While in->p < in->end. */
static inline bool mark_get(struct bytes_in *in, uint32_t *last, uint8_t *told)
{
    uint64_t z, number;
    const uint8_t *p = varint_get(in->p, in->end, &z);

    if (p == NULL || p == in->end)
        return false;
    number = *last + (z >> 1 ^ -(z & 1));
    if (number > UINT32_MAX)
        return false;
    *last = (uint32_t)number;
    *told = *p;
    in->p = p + 1;
    return true;
}

#endif
