/* sha256.c: see sha256.h. */
#include "common/task/sha256.h"

#define OPENSSL_SUPPRESS_DEPRECATED /* blocks of a hash: EVP has none */
#include <assert.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <sodium.h>
#include <string.h>

static bool begin(EVP_MD_CTX *ctx)
{
    return EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1;
}

bool sha256_begin(struct sha256 *h)
{
    EVP_MD_CTX *ctx;

    sha256_drop(h);
    ctx = EVP_MD_CTX_new();
    if (ctx == NULL || !begin(ctx)) {
        EVP_MD_CTX_free(ctx);
        return false;
    }
    h->ctx = ctx;
    return true;
}

void sha256_add(struct sha256 *h, const void *p, size_t n)
{
    int ok = EVP_DigestUpdate(h->ctx, p, n);

    assert(ok == 1);
    (void)ok;
}

void sha256_end(struct sha256 *h, uint8_t out[SHA256_BYTES])
{
    int ok = EVP_DigestFinal_ex(h->ctx, out, NULL);

    assert(ok == 1);
    (void)ok;
    sha256_drop(h);
}

void sha256_drop(struct sha256 *h)
{
    EVP_MD_CTX_free(h->ctx);
    h->ctx = NULL;
}

/* The context is kept for the next one: to make one costs more than to hash something short. */
void sha256_of(uint8_t out[SHA256_BYTES], const void *p, size_t n)
{
    static EVP_MD_CTX *kept;

    if (kept == NULL)
        kept = EVP_MD_CTX_new();
    if (kept == NULL || !begin(kept) || EVP_DigestUpdate(kept, p, n) != 1 ||
        EVP_DigestFinal_ex(kept, out, NULL) != 1)
        crypto_hash_sha256(out, p, n); /* needs no memory */
}

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
