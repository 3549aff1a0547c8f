/* segq_key.c: see segq_key.h. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "segq_key.h"

#include <errno.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORD 32 /* bytes of a number */

static int sign(void *ctx, const void *data, size_t n, unsigned char rs[2 * WORD])
{
    EVP_MD_CTX *m = EVP_MD_CTX_new();
    unsigned char der[80];
    const unsigned char *at = der;
    size_t got = sizeof(der);
    ECDSA_SIG *s = NULL;
    int bad;

    if (m != NULL && EVP_DigestSignInit(m, NULL, EVP_sha256(), NULL, ctx) == 1 &&
        EVP_DigestSign(m, der, &got, data, n) == 1)
        s = d2i_ECDSA_SIG(NULL, &at, (long)got);
    bad = s == NULL || BN_bn2binpad(ECDSA_SIG_get0_r(s), rs, WORD) != WORD ||
          BN_bn2binpad(ECDSA_SIG_get0_s(s), rs + WORD, WORD) != WORD;
    ECDSA_SIG_free(s);
    EVP_MD_CTX_free(m);
    return bad ? -1 : 0;
}

static EVP_PKEY *made(void)
{
    EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
    EVP_PKEY *k = NULL;

    if (c == NULL || EVP_PKEY_keygen_init(c) != 1 ||
        EVP_PKEY_CTX_set_ec_paramgen_curve_nid(c, NID_X9_62_prime256v1) != 1 ||
        EVP_PKEY_CTX_set_ec_param_enc(c, OPENSSL_EC_NAMED_CURVE) != 1 || EVP_PKEY_keygen(c, &k) != 1)
        k = NULL;
    EVP_PKEY_CTX_free(c);
    return k;
}

static EVP_PKEY *read_from(const char *file)
{
    FILE *f = fopen(file, "r");
    EVP_PKEY *k;

    if (f == NULL)
        return NULL;
    k = PEM_read_PrivateKey(f, NULL, NULL, (void *)""); /* one with a password is none */
    fclose(f);
    return k;
}

/* Whole, or not at all: another process may do the same. */
static void keep(EVP_PKEY *k, const char *file)
{
    size_t room = strlen(file) + 8;
    char *part = malloc(room);
    int fd = -1;
    FILE *f;

    if (part != NULL) {
        snprintf(part, room, "%s.XXXXXX", file);
        fd = mkstemp(part); /* for its owner alone */
    }
    f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f != NULL) {
        int good = PEM_write_PrivateKey(f, k, NULL, NULL, 0, NULL, NULL) == 1 && fflush(f) == 0 &&
                   fsync(fd) == 0; /* an empty file would be no key for ever */

        if (good && link(part, file) != 0 && errno != EEXIST) /* EEXIST: the other one's counts */
            rename(part, file);                               /* a file system without links */
        fclose(f);
    } else if (fd >= 0) {
        close(fd);
    }
    if (fd >= 0)
        unlink(part);
    free(part);
}

/* The point, as a public key of this curve ends with; -1: it is of another one. */
static int point_of(EVP_PKEY *k, struct segq_key *key)
{
    static const unsigned char head[] = { 0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48,
        0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03,
        0x42, 0x00, 0x04 };
    unsigned char *der = NULL;
    int n = i2d_PUBKEY(k, &der), good;

    good = n == (int)sizeof(head) + 2 * WORD && memcmp(der, head, sizeof(head)) == 0;
    if (good) {
        memcpy(key->x, der + sizeof(head), WORD);
        memcpy(key->y, der + sizeof(head) + WORD, WORD);
    }
    OPENSSL_free(der);
    return good ? 0 : -1;
}

int segq_key_open(struct segq_key *key, const char *file)
{
    EVP_PKEY *k = file == NULL || access(file, F_OK) != 0 ? made() : NULL;

    memset(key, 0, sizeof(*key));
    if (file != NULL) {
        if (k != NULL)
            keep(k, file);
        EVP_PKEY_free(k);
        k = read_from(file); /* what is kept, not what was made */
    }
    if (k == NULL || point_of(k, key) < 0) {
        EVP_PKEY_free(k);
        return -1;
    }
    key->sign = sign;
    key->ctx = k;
    return 0;
}

void segq_key_close(struct segq_key *key)
{
    EVP_PKEY_free(key->ctx);
    memset(key, 0, sizeof(*key));
}
