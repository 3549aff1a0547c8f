/* rank.h: how many of a growing row of numbers, in all or of some levels, are smaller than one of them. Pure.
 *
 * Numbers come in rising order, a few in front of all, and go in any. 512 of them are a block: a bitmap; up to 64
 * blocks are a chunk, which knows their sum. A rank adds up chunks, blocks and words before
 * it: among ten million, some hundred additions. A block whose last number has gone is given
 * back, so numbers that go in order cost a bit each, and a row of ten 150 bytes.
 *
 * Each number has a level, which may change. A block has up to three bitmaps more, with the bits of the levels:
 * none while all of its levels are 0. So a level changes where its number is, amid the row.
 *
 * A number that goes may be held: nobody counts it, its block stays, and it comes back without memory. */
#ifndef SEGQ_TASK_RANK_H
#define SEGQ_TASK_RANK_H

#include "common/base/base.h"

#define RANK_SPAN ((uint64_t)UINT32_MAX - 1024)
#define RANK_LEVEL_BITS 3u
#define RANK_LEVELS     (1u << RANK_LEVEL_BITS)

struct rank_chunk;
struct rank {
    struct rank_chunk *chunk; /* owned */
    uint32_t n_chunks, cap;
    uint64_t n;    /* numbers in it */
    uint64_t next; /* the smallest that may still come, behind all */
};
#define RANK_FIRST ((uint64_t)1 << 40) /* the first number: there is room in front of it */

void rank_init(struct rank *r);
void rank_fini(struct rank *r);
/* number >= r->next. 0; SQ_ENOMEM; SQ_EFULL: it is RANK_SPAN or more above the smallest one
 * (so who keeps the low 32 bits of a number knows it). Nothing has changed then. */
SQ_CHECK int rank_add(struct rank *r, uint64_t number, unsigned level);
/* In front of all: the number before the smallest one, into *number. As rank_add(). */
SQ_CHECK int rank_add_first(struct rank *r, uint64_t *number, unsigned level);
/* Removes a number that must be there. */
void rank_del(struct rank *r, uint64_t number);
/* Removes it, as rank_del(), and holds its place. */
void rank_hold(struct rank *r, uint64_t number);
/* A number that is held comes back. Its block has room for the level that it had (rank_reach_level()). */
void rank_put_back(struct rank *r, uint64_t number, unsigned level);
/* A number that is held does not come back. */
void rank_let_go(struct rank *r, uint64_t number);
/* Makes room for another level of a number that must be there, or is held. 0; SQ_ENOMEM. */
SQ_CHECK int rank_reach_level(struct rank *r, uint64_t number, unsigned level);
/* For which there is room. */
void rank_set_level(struct rank *r, uint64_t number, unsigned level);
bool rank_has(const struct rank *r, uint64_t number);
/* How many smaller ones of this level or above are there; level 0: of any. */
uint64_t rank_before(const struct rank *r, uint64_t number, unsigned level);
uint64_t rank_bytes(const struct rank *r);

#endif
