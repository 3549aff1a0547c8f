/* hmac256.c: see hmac256.h. */
#include "common/task/hmac256.h"

#define OPENSSL_SUPPRESS_DEPRECATED /* blocks are what is wanted here; EVP has none */
#include <assert.h>
#include <openssl/sha.h>
#include <string.h>

#define BLOCK 64u

/* Continues behind the block of a pad. */
static SHA256_CTX behind(const uint32_t state[8])
{
    SHA256_CTX c;

    SHA256_Init(&c);
    memcpy(c.h, state, sizeof(c.h));
    c.Nl = BLOCK * 8;
    return c;
}

static void pad(uint32_t state[8], const uint8_t key[BLOCK], uint8_t with)
{
    uint8_t block[BLOCK];
    SHA256_CTX c;

    for (unsigned i = 0; i < BLOCK; i++)
        block[i] = key[i] ^ with;
    SHA256_Init(&c);
    SHA256_Transform(&c, block);
    memcpy(state, c.h, sizeof(c.h));
}

void hmac256_key(struct hmac256 *k, const void *key, size_t n)
{
    uint8_t block[BLOCK] = { 0 };

    if (n > BLOCK)
        SHA256(key, n, block);
    else if (n > 0)
        memcpy(block, key, n);
    pad(k->in, block, 0x36);
    pad(k->out, block, 0x5c);
}

void hmac256_of(uint8_t mac[HMAC256_BYTES], const struct hmac256 *k, const void *p, size_t n)
{
    SHA256_CTX c = behind(k->in);

    SHA256_Update(&c, p, n);
    SHA256_Final(mac, &c);
    c = behind(k->out);
    SHA256_Update(&c, mac, HMAC256_BYTES);
    SHA256_Final(mac, &c);
}

/* A block that has a hash of 32 bytes, and says that the pad's block stands before it. */
static void put_hash(uint8_t block[BLOCK], const uint32_t h[8])
{
    for (unsigned i = 0; i < 8; i++) {
        uint32_t big = __builtin_bswap32(h[i]);

        memcpy(block + 4 * i, &big, 4);
    }
}

void pbkdf2_256(uint8_t out[HMAC256_BYTES], const void *password, size_t n, const void *salt, size_t n_salt,
                uint32_t rounds)
{
    const uint8_t first[4] = { 0, 0, 0, 1 };
    uint8_t block[BLOCK] = { [32] = 0x80, [62] = 3 }; /* 768 bits in all */
    struct hmac256 k;
    SHA256_CTX c;

    assert(rounds > 0);
    hmac256_key(&k, password, n);
    c = behind(k.in);
    SHA256_Update(&c, salt, n_salt);
    SHA256_Update(&c, first, sizeof(first));
    SHA256_Final(block, &c);
    c = behind(k.out);
    SHA256_Update(&c, block, HMAC256_BYTES);
    SHA256_Final(block, &c);
    memcpy(out, block, HMAC256_BYTES);
    while (--rounds > 0) {
        memcpy(c.h, k.in, sizeof(c.h));
        SHA256_Transform(&c, block);
        put_hash(block, c.h);
        memcpy(c.h, k.out, sizeof(c.h));
        SHA256_Transform(&c, block);
        put_hash(block, c.h);
        for (unsigned i = 0; i < HMAC256_BYTES; i++)
            out[i] ^= block[i];
    }
}
