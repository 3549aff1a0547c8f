/* puzzles.h: the work of challenges: derived keys (PBKDF2) whose counter we know, made once and
 * given to several. Pure.
 *
 * To make one costs as much as one try of whoever solves it (CHALLENGE_ROUNDS), so a flood that
 * asks must not have one made each time. Each second has PUZZLES of a rank, made as they are first
 * given: that bounds the cost, whatever is asked. An address prefix walks through them, each once
 * (door.h), so to solve one is worth one challenge within a prefix; whoever has m prefixes may meet
 * one puzzle m times at most, and only as far as more than PUZZLES are asked for in a second. */
#ifndef SEGQ_PUZZLES_H
#define SEGQ_PUZZLES_H

#include "common/base/base.h"

#define PUZZLES          512u /* in a second, of each rank */
#define PUZZLE_RANKS     10u
#define PUZZLE_KEYS_MIN  1024u /* counters of rank 0; each rank has twice as many */
#define CHALLENGE_ROUNDS 300u

struct puzzle {
    uint8_t nonce[16], salt[16];
    uint8_t key[32]; /* derived; its first half is told */
};

struct puzzles;

/* secret: random, of this process. NULL: no memory. */
struct puzzles *puzzles_new(const uint8_t secret[32]);
void puzzles_free(struct puzzles *p);
/* The one at a place (taken modulo PUZZLES) of that second. NULL: no memory. */
const struct puzzle *puzzles_get(struct puzzles *p, unsigned rank, uint64_t second, uint32_t place);
uint64_t puzzles_made(const struct puzzles *p); /* ever */
/* The rank in which `keys` counters are tried at most. */
unsigned puzzle_rank(uint64_t keys);
/* The counter of the puzzle at a place: for tests, which need not solve it. */
uint32_t puzzles_counter(const struct puzzles *p, unsigned rank, uint64_t second, uint32_t place);

#endif
