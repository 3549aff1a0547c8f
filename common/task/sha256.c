/* sha256.c: see sha256.h. */
#include "common/task/sha256.h"

#include <assert.h>
#include <openssl/evp.h>
#include <sodium.h>

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
