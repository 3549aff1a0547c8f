/* puzzles.c: see puzzles.h. Nonce, salt and counter are MACs of rank, second and place under the
 * secret. */
#include "router/gate/puzzles.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/task/sha256.h"

struct made {
    uint64_t second; /* 0: none */
    struct puzzle of;
};

struct puzzles {
    struct hmac256 secret;
    struct made *rank[PUZZLE_RANKS]; /* owned; NULL: nobody has asked for it yet */
    uint64_t made;
};

struct puzzles *puzzles_new(const uint8_t secret[32])
{
    struct puzzles *p = calloc(1, sizeof(*p));

    if (p != NULL)
        hmac256_key(&p->secret, secret, 32);
    return p;
}

void puzzles_free(struct puzzles *p)
{
    for (unsigned i = 0; p != NULL && i < PUZZLE_RANKS; i++)
        free(p->rank[i]);
    free(p);
}

uint64_t puzzles_made(const struct puzzles *p)
{
    return p->made;
}

unsigned puzzle_rank(uint64_t keys)
{
    unsigned rank = 0;

    while (rank < PUZZLE_RANKS - 1 && (uint64_t)PUZZLE_KEYS_MIN << rank < keys)
        rank++;
    return rank;
}

static void draw(uint8_t out[HMAC256_BYTES], const struct puzzles *p, unsigned rank, uint64_t second,
                 uint32_t place, uint8_t what)
{
    uint8_t text[14];

    memcpy(text, &second, 8);
    memcpy(text + 8, &place, 4);
    text[12] = (uint8_t)rank;
    text[13] = what;
    hmac256_of(out, &p->secret, text, sizeof(text));
}

uint32_t puzzles_counter(const struct puzzles *p, unsigned rank, uint64_t second, uint32_t place)
{
    uint8_t mac[HMAC256_BYTES];
    uint32_t v;

    draw(mac, p, rank, second, place % PUZZLES, 'c');
    memcpy(&v, mac, sizeof(v));
    return v & ((PUZZLE_KEYS_MIN << rank) - 1);
}

static void make(struct puzzle *to, const struct puzzles *p, unsigned rank, uint64_t second, uint32_t place)
{
    uint32_t counter = __builtin_bswap32(puzzles_counter(p, rank, second, place));
    uint8_t password[sizeof(to->nonce) + 4], mac[HMAC256_BYTES];

    draw(mac, p, rank, second, place, 'n');
    memcpy(to->nonce, mac, sizeof(to->nonce));
    memcpy(to->salt, mac + sizeof(to->nonce), sizeof(to->salt));
    memcpy(password, to->nonce, sizeof(to->nonce));
    memcpy(password + sizeof(to->nonce), &counter, 4);
    pbkdf2_256(to->key, password, sizeof(password), to->salt, sizeof(to->salt), CHALLENGE_ROUNDS);
}

const struct puzzle *puzzles_get(struct puzzles *p, unsigned rank, uint64_t second, uint32_t place)
{
    struct made *m;

    assert(rank < PUZZLE_RANKS && second != 0);
    place %= PUZZLES;
    if (p->rank[rank] == NULL)
        p->rank[rank] = calloc(PUZZLES, sizeof(*m));
    if (p->rank[rank] == NULL)
        return NULL;
    m = &p->rank[rank][place];
    if (m->second != second) {
        make(&m->of, p, rank, second, place);
        m->second = second;
        p->made++;
    }
    return &m->of;
}
