/* draw.h: the draw of the early tickets of a queue. Pure (libsodium's SHA-256).
 *
 * Everybody who came before the opening has a number in the segment that they joined: 0, 1,
 * 2 ... in the order of arrival. At the opening these get places: a shuffle (Fisher-Yates)
 * whose random numbers come from a seed that was fixed before anybody came. So that it can
 * be checked with anything that has SHA-256:
 *
 *   commitment   SHA-256("segq draw 1\n" queue "\n" seed in hexadecimal "\n"), published
 *                before; the seed itself is published after
 *   random(i)    64 bits, big endian: bytes 8 * (i mod 4) ... of SHA-256(seed, segment, i / 4),
 *                the seed as its 32 bytes, the others as 8 bytes each, big endian
 *   shuffle      list = 0, 1 ... count - 1; for i = count - 1 ... 1:
 *                    j = random(i) * (i + 1) / 2^64, rounded down; swap list[i], list[j]
 *   place        list[p] is the number that has place p: the first place is 0
 *
 * A person who left before the draw, or is silent, has a place like all: those behind move up. */
#ifndef SEGQ_DRAW_H
#define SEGQ_DRAW_H

#include "common/base/base.h"

#define DRAW_SEED 32
#define DRAW_HEX  (2 * DRAW_SEED)

struct draw { /* a segment's draw; owned by whoever made it */
    uint8_t seed[DRAW_SEED];
    uint32_t count;
    uint32_t *number; /* by place */
    uint32_t *place;  /* by number; the same piece of memory */
};

/* NULL: no memory. */
struct draw *draw_new(uint64_t segment, uint32_t count, const uint8_t seed[DRAW_SEED]);
void draw_free(struct draw *d); /* NULL is fine */

/* Numbers that were given after the draw are their own places. */
static inline uint32_t draw_place(const struct draw *d, uint32_t number)
{
    return number < d->count ? d->place[number] : number;
}

static inline uint32_t draw_number(const struct draw *d, uint32_t place)
{
    return place < d->count ? d->number[place] : place;
}

void draw_commitment(const char *queue, const uint8_t seed[DRAW_SEED],
                     uint8_t hash[DRAW_SEED]);

#endif
