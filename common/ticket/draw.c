/* draw.c: the shuffle. */
#include "common/ticket/draw.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static void put_u64(uint8_t *p, uint64_t v)
{
    for (int i = 7; i >= 0; i--, v >>= 8)
        p[i] = (uint8_t)v;
}

static uint64_t get_u64(const uint8_t *p)
{
    uint64_t v = 0;

    for (int i = 0; i < 8; i++)
        v = v << 8 | p[i];
    return v;
}

struct stream { /* four random numbers a hash; asked for from the last to the first */
    uint8_t in[DRAW_SEED + 16];
    uint8_t out[crypto_hash_sha256_BYTES];
    uint64_t at; /* which of them `out` is */
};

static uint64_t random_at(struct stream *s, uint32_t i)
{
    if (s->at != i / 4) {
        s->at = i / 4;
        put_u64(s->in + DRAW_SEED + 8, s->at);
        crypto_hash_sha256(s->out, s->in, sizeof(s->in));
    }
    return get_u64(s->out + i % 4 * 8);
}

static void shuffle(struct draw *d, uint64_t segment)
{
    struct stream s = { .at = UINT64_MAX };

    memcpy(s.in, d->seed, DRAW_SEED);
    put_u64(s.in + DRAW_SEED, segment);
    for (uint32_t i = 0; i < d->count; i++)
        d->number[i] = i;
    for (uint32_t i = d->count; i-- > 1;) {
        uint32_t j = (uint32_t)((unsigned __int128)random_at(&s, i) * (i + 1ull) >> 64);
        uint32_t number = d->number[i];

        assert(j <= i);
        d->number[i] = d->number[j];
        d->number[j] = number;
    }
    for (uint32_t i = 0; i < d->count; i++)
        d->place[d->number[i]] = i;
}

struct draw *draw_new(uint64_t segment, uint32_t count, const uint8_t seed[DRAW_SEED])
{
    struct draw *d = calloc(1, sizeof(*d));

    if (d == NULL)
        return NULL;
    d->number = calloc(count > 0 ? count : 1, 2 * sizeof(*d->number));
    if (d->number == NULL) {
        free(d);
        return NULL;
    }
    d->place = d->number + count;
    d->count = count;
    memcpy(d->seed, seed, DRAW_SEED);
    shuffle(d, segment);
    return d;
}

void draw_free(struct draw *d)
{
    if (d == NULL)
        return;
    free(d->number);
    free(d);
}

void draw_commitment(const char *queue, const uint8_t seed[DRAW_SEED],
                     uint8_t hash[DRAW_SEED])
{
    static const char head[] = "segq draw 1\n";
    crypto_hash_sha256_state s;
    char hex[DRAW_HEX + 1];

    sodium_bin2hex(hex, sizeof(hex), seed, DRAW_SEED);
    hex[DRAW_HEX] = '\n';
    crypto_hash_sha256_init(&s);
    crypto_hash_sha256_update(&s, (const uint8_t *)head, sizeof(head) - 1);
    crypto_hash_sha256_update(&s, (const uint8_t *)queue, strlen(queue));
    crypto_hash_sha256_update(&s, (const uint8_t *)"\n", 1);
    crypto_hash_sha256_update(&s, (const uint8_t *)hex, sizeof(hex));
    crypto_hash_sha256_final(&s, hash);
}
