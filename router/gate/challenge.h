/* challenge.h: challenges: the work that they ask for, their text and that of their answers, in the
 * wire form of ALTCHA, version 2 (PBKDF2/SHA-256 with a counter that the server knows), so that widgets
 * and libraries for it solve ours. Pure.
 *
 *   challenge  {"parameters":{algorithm, cost, data, expiresAt, keyLength, keyPrefix,
 *               keySignature, nonce, salt},"signature":HEX}
 *   answer     base64 of {"challenge":{...},"solution":{"counter":N,"derivedKey":HEX}}
 *
 * signature is the HMAC of the parameters as JSON with sorted members and no blanks; keySignature
 * that of the derived key. data has what a challenge is bound to: queue, `from` (a keyed hash of the
 * address prefix), `who` (of the subject or the Idempotency-Key that asked for it; 0: neither), id.
 * An answer is read from any order of members; what is signed is written anew from them. So a
 * forged one costs its reading and a MAC, and one that was not worked for a second MAC: no PBKDF2.
 * All routers have the key (common/ticket/keys.h).
 *
 * The work (puzzles) is derived keys (PBKDF2) whose counter we know, made once and given to several.
 * To make one costs as much as one try of whoever solves it (CHALLENGE_ROUNDS), so a flood that asks
 * must not have one made each time. Each second has PUZZLES of a rank, made as they are first given:
 * that bounds the cost, whatever is asked. An address prefix walks through them, each once (door.h),
 * so to solve one is worth one challenge within a prefix; whoever has m prefixes may meet one puzzle m
 * times at most, and only as far as more than PUZZLES are asked for in a second. */
#ifndef SEGQ_CHALLENGE_H
#define SEGQ_CHALLENGE_H

#include "common/base/base.h"
#include "common/task/sha256.h"

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

/* For so long it is good, by the clock of the router that made it; a router whose clock is behind that
 * by more than the leeway refuses it. A join's key is known for a minute at least
 * (segment/core/state.h), so an answer that comes again, at whatever router, finds the place of the
 * first. */
#define CHALLENGE_LIFE_S   45
#define CHALLENGE_LEEWAY_S 10
#define CHALLENGE_ID_LEN   32   /* hex */
#define CHALLENGE_TEXT_MAX 800  /* bytes of the challenge, with a queue's longest name */
#define CHALLENGE_ANSWER_MAX 2048

struct challenge_key {
    struct hmac256 text, work; /* over the parameters, over derived keys */
};

struct challenge_keys {
    struct challenge_key first, other; /* other: its challenges are ours, too, if has_other */
    bool has_other;
};

struct challenge_terms { /* bindings */
    const char *queue;
    uint64_t from, who;
    uint64_t other_from, other_who; /* likewise, hashed by the other secret; only if there is one */
};

/* result, as in segq_challenges_total; code, detail */
#define CHALLENGE_REFUSALS(X)                                                                      \
    X(INVALID, "invalid", "this is no answer to a challenge of ours")                              \
    X(EXPIRED, "expired", "the challenge has expired: join again without it, for a fresh one")     \
    X(OTHER_QUEUE, "other_queue", "the challenge is of another queue")                             \
    X(OTHER_ADDRESS, "other_address", "the challenge was given to another address")                \
    X(OTHER_JOIN, "other_join",                                                                    \
      "the challenge was given to a join with another subject or Idempotency-Key")                 \
    X(UNSOLVED, "unsolved", "the derived key is not the one that the challenge asks for")          \
    X(USED, "used", "the challenge was used before")

enum challenge_state {
    CHALLENGE_GOOD,
#define X(name, word, text) CHALLENGE_##name,
    CHALLENGE_REFUSALS(X)
#undef X
    CHALLENGE_NSTATES
};

struct challenge_seen { /* the challenge of an answer that is signed with ours */
    char id[CHALLENGE_ID_LEN + 1];
    int64_t end_s;
};

void challenge_key_make(struct challenge_key *k, const uint8_t secret[32]);
/* Writes the challenge, with no 0 behind it: how many bytes. id: CHALLENGE_ID_LEN characters. */
size_t challenge_write(char out[CHALLENGE_TEXT_MAX], const struct challenge_key *k,
                       const struct challenge_terms *t, const char *id, const struct puzzle *p,
                       int64_t expires_s);
/* All but whether it was used. *of is set, unless it is INVALID. */
enum challenge_state challenge_check(const struct challenge_keys *k, const struct challenge_terms *t,
                                     const char *answer, size_t n, int64_t now_s,
                                     struct challenge_seen *of);

#endif
